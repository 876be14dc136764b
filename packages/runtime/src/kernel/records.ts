/** The record that the kernel itself adds to the log. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

/** The opening of a session, which its scope names. `default/main` always exists and has none. */
export const sessionOpened = defineRecord("session_opened", z.object({}));
