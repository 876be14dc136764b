/** Questions: what work asks people, of which each is asked once and answered from anywhere. */
import type { Feature } from "../../kernel/feature.ts";
import { asker } from "../../kernel/services.ts";
import { auditQuestion } from "./audit.ts";
import { QuestionHost, type QuestionOptions } from "./question-host.ts";
import { questions } from "./questions.ts";
import { questionRecords } from "./records.ts";
import { tellQuestion } from "./tell.ts";

export const questionFeature = (options: QuestionOptions = {}): Feature<QuestionHost> => ({
	name: "question",
	records: { code: questionRecords },
	projections: [questions],
	provides: [asker],
	tell: tellQuestion,
	audit: auditQuestion,
	start: (kernel) => new QuestionHost(kernel, options),
});
