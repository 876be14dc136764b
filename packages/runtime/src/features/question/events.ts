/** The events of questions. */
import type { Scope, Seq } from "@reyn/wal";
import type { OpenQuestion } from "../../kernel/services.ts";

/** An event of a question. */
export type QuestionEvent =
	| ({ readonly type: "question" } & OpenQuestion)
	| {
			readonly type: "answered";
			readonly scope: Scope;
			/** The seq of the question. */
			readonly question: Seq;
			readonly text: string;
			readonly by: string;
	  };
