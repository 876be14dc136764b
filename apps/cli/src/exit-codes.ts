/** The numbers that a process ends with, which the README lists. */
export const exitCodes = {
	ok: 0,
	failed: 1,
	usage: 2,
	notFound: 3,
	refused: 4,
	damaged: 5,
	stepsFailed: 6,
	hungUp: 129,
	interrupted: 130,
	unread: 141,
	terminated: 143,
} as const;

export const bySignal = {
	SIGHUP: exitCodes.hungUp,
	SIGINT: exitCodes.interrupted,
	SIGPIPE: exitCodes.unread,
	SIGTERM: exitCodes.terminated,
} as const;
