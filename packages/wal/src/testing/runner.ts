/** The part of vitest, jest or any other runner that the suite uses. */
export interface Runner {
	describe(name: string, body: () => void): void;
	test(name: string, body: () => Promise<void>): void;
	expect(value: unknown): { toEqual(expected: unknown): void; toBe(expected: unknown): void };
}
