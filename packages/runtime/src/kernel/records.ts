/** The record that the kernel itself adds to the log, and a mode of its moves. */
import { defineRecord } from "@reyn/wal";
import { z } from "zod";

/** The opening of a session, which its scope names. `default/main` always exists and has none. */
export const sessionOpened = defineRecord("session_opened", z.object({}));

/** The mode of a reset that leaves history as it is, and takes a file over from another moment. */
export const ADOPT = "adopt";
