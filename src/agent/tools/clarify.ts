/**
 * Asks the user a question and waits for the answer (contract S4).
 */
import { z } from 'zod'
import { toErrorJson } from '../support/result-json.ts'
import { defineToolCode } from './tool.ts'

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

export const clarifyTool = defineToolCode({
  name: 'clarify',
  description:
    'Ask the user when you cannot decide without the answer; waits for it. Not for permission to use a tool.',
  parameters,
  // The question is stored under the call, so that a turn that is resumed finds it and its answer.
  mode: 'pure',
  label: ({ question }) => question,

  async run({ question, choices = [], multi_select: multiSelect = false }, { askUser, signal }) {
    const answer = await askUser?.({ question, choices, multiSelect }, signal)
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
