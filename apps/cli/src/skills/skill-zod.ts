/** What a skill in a file gets for zod, whatever is installed beside it. */
export * from "zod";
