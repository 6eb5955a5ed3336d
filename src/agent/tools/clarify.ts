/**
 * Asks the user a question and waits for the answer (contract S4).
 */
import { z } from 'zod'
import { toErrorJson } from '../support/result-json.ts'
import { defineToolCode, type ToolContext } from './tool.ts'

const maxChoices = 4
/** Models offer more now and then. The first ones are asked, and the result says which. */
const choices = z
  .array(z.string())
  .meta({ maxItems: maxChoices })
  .transform((all) => all.slice(0, maxChoices))
  .pipe(z.array(z.string().trim().min(1).max(200)))

const parameters = z.object({
  question: z.string().trim().min(1).max(2_000),
  choices: choices.optional(),
  multi_select: z.boolean().optional(),
})

export interface QuestionPort {
  /** Asks the user of the turn; undefined where there is none. */
  readonly askUserOf?: ((call: ToolContext) => AskUser | undefined) | undefined
}

export const createClarifyTool = ({ askUserOf }: QuestionPort) =>
  defineToolCode({
    name: 'clarify',
    description:
      'Ask the user when you cannot decide without the answer; waits for it. Not for permission to use a tool.',
    parameters,
    // The question is stored under the call, so that a turn that is resumed finds it and its answer.
    mode: 'pure',
    label: ({ question }) => question,

    async run({ question, choices = [], multi_select: multiSelect = false }, context) {
      const answer = await askUserOf?.(context)?.({ question, choices, multiSelect }, context.signal)
      if (answer === undefined || answer.kind === 'unattended')
        return toErrorJson({ code: 'no_user', reason: 'No user can be asked here. Decide, and say what you assumed.' })
      return JSON.stringify({
        question,
        choices_offered: choices.length === 0 ? null : choices,
        ...(answer.kind === 'answered'
          ? { user_response: answer.response }
          : { user_response: null, note: 'No answer in time. Decide, and say what you assumed.' }),
      })
    },
  })

/** Waits until the user has answered or the question has expired. Rejects with the signal's reason when it aborts. */
export type AskUser = (question: UserQuestion, signal: AbortSignal) => Promise<UserResponse>

export interface UserQuestion {
  readonly question: string
  /** Empty: any answer. The user may give another answer than these. */
  readonly choices: readonly string[]
  /** Several choices may be chosen. */
  readonly multiSelect: boolean
}

/** `response` is a choice, or the text of the user; with `multiSelect` a list of choices, or a text. */
export type UserResponse =
  | { readonly kind: 'answered'; readonly response: string | readonly string[] }
  | { readonly kind: 'unanswered' }
  /** No user follows the turn. */
  | { readonly kind: 'unattended' }
