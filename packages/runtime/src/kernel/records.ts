/** What the kernel itself adds to the log. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

/** A conversation that is not `default/main`, which always exists. Its scope says which. */
export const sessionOpened = defineRecord("session_opened", z.object({}));
