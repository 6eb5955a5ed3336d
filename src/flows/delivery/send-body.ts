/**
 * What a script sends to have a message delivered (`hermes send`, `POST /api/send`).
 */
import { z } from 'zod'

const maxWaitSeconds = 120

export const sendBody = z.strictObject({
  targets: z.array(z.string().trim().min(1).max(500)).min(1).max(50),
  text: z.string().max(1_000_000).default(''),
  /** Absolute paths and https addresses. */
  media: z.array(z.string().min(1).max(2_000)).max(20).default([]),
  /** Seconds to wait for the platforms. */
  wait: z.number().min(0).max(maxWaitSeconds).default(30),
  /** A second request with the same key sends nothing to chats of the first one, and reports on it. */
  key: z.string().min(1).max(200).optional(),
  /** Tries chats, too, that took no messages the last time. */
  force: z.boolean().default(false),
})
export type SendRequest = z.output<typeof sendBody>
