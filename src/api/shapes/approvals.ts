/**
 * The shapes of the questions that wait for an answer.
 */
import { z } from 'zod'
import { chat, time } from './pages.ts'

export const questionShape = z.object({
  id: z.string(),
  kind: z.enum(['approval', 'clarify']).describe('A tool call that needs an approval, or a question of the agent.'),
  session_key: z.string(),
  turn_id: z.string().nullable(),
  ...chat,
  user_id: z.string().nullable(),
  user_name: z.string().nullable(),
  text: z.string().describe('Markdown, as it is shown in the chat.'),
  command: z.string().nullable().describe('The command or the tool call that waits.'),
  description: z.string().nullable().describe('Why it needs an approval.'),
  choices: z.array(z.object({ answer: z.string(), label: z.string() })),
  accepts_text: z.boolean().describe('Whether the answer may be a text.'),
  expires_at: time,
})
export type ApiQuestion = z.output<typeof questionShape>

export const pendingQuery = z.strictObject({
  platform: z.string().min(1).max(200).optional(),
  chat: z.string().min(1).max(1_000).optional(),
  session_key: z.string().min(1).max(2_000).optional(),
})
export type PendingQuery = z.output<typeof pendingQuery>
/** The oldest first. */
export const pendingResponse = z.object({ questions: z.array(questionShape) })
export type ApiPending = z.output<typeof pendingResponse>

export const decideBody = z.strictObject({
  id: z.string().min(1).max(200),
  answer: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('The `answer` of a choice: `once`, `session`, `always` or `deny` for an approval.'),
  text: z
    .string()
    .max(4_000)
    .optional()
    .describe('The answer in words to a question of the agent; the reason of an answer to an approval.'),
})
export type DecideBody = z.output<typeof decideBody>
export const decidedResponse = z.object({
  ok: z.literal(true),
  id: z.string(),
  answer: z.string(),
  says: z.string().describe('One line about the effect.'),
  changed: z.boolean().describe('False when the same answer was given before.'),
})
export type ApiDecided = z.output<typeof decidedResponse>
