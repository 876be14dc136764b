/** The backend as the rest of a runtime sees it: opened when it is first asked, its writes made by somebody else. */
import type { TaskBackend, TaskCapabilities } from "@reyn/tasks";

/**
 * @param open gives the backend, the same each time
 * @param write makes each write, when it may be
 */
export function taskPort(
	open: () => Promise<TaskBackend>,
	write: <T>(make: () => Promise<T>) => Promise<T> = (make) => make(),
): TaskBackend {
	let name = "the tasks";
	// Of one that was not opened yet nobody knows.
	let capabilities: TaskCapabilities = { transactions: false, supportsRewind: false };
	const opened = async (): Promise<TaskBackend> => {
		const backend = await open();
		({ name, capabilities } = backend);
		return backend;
	};
	const written = async <T>(make: (backend: TaskBackend) => Promise<T>): Promise<T> => {
		const backend = await opened();
		return write(() => make(backend));
	};
	return {
		get capabilities() {
			return capabilities;
		},
		get name() {
			return name;
		},
		get: async (...given) => (await opened()).get(...given),
		list: async (...given) => (await opened()).list(...given),
		comments: async (...given) => (await opened()).comments(...given),
		create: (...given) => written((backend) => backend.create(...given)),
		setStatus: (...given) => written((backend) => backend.setStatus(...given)),
		comment: (...given) => written((backend) => backend.comment(...given)),
		link: (...given) => written((backend) => backend.link(...given)),
		written: async (...given) => (await opened()).written(...given),
		changedSince: async (...given) => (await opened()).changedSince(...given),
		close: async () => (await opened()).close(),
	};
}
