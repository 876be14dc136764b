/** What every contender does: an agent that adds one message a step, and has its state on disk after each. */

export interface Message {
	readonly role: string;
	readonly text: string;
}

/** Names the state after a step, for as long as the store is kept: a seq, or the id of a checkpoint. */
export type Place = number | string;

export interface Agent {
	/** One step a message; calls `begins` at the start of each. Gives the places of the states after them. */
	run(messages: readonly Message[], begins: () => void): Promise<readonly Place[]>;
	/** The messages of a past state, as an array. */
	past(place: Place): Promise<readonly Message[]>;
	/** Has a state in memory, as the agent that it is the state of has, until the answer is called. */
	hold(place: Place): Promise<() => void>;
	/** Goes back to a place and on from there with one more message, on disk; gives the messages that are current then. */
	fork(place: Place, message: Message): Promise<readonly Message[]>;
	/** The two halves of a step, where they are calls of their own. */
	readonly halves?: {
		/** Adds a message, to be on disk some time later. */
		add(message: Message): void;
		/** Resolves when the state is on disk. */
		checkpoint(): Promise<Place>;
	};
	close(): Promise<void>;
}

/** Opens what lies in a directory, or something new in an empty one. */
export type OpenAgent = (directory: string) => Promise<Agent>;
