/**
 * Asks questions in a terminal. What is typed as the answer to a hidden question is not shown.
 */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { HermesError } from '../../lib/errors.ts'
import type { Input, Output } from '../../lib/terminal-streams.ts'
import type { CliContext } from './context.ts'

export interface QuestionOptions {
  readonly isHidden?: boolean
  /** Takes the question back: `ask` rejects then. */
  readonly signal?: AbortSignal
}

export interface Questions {
  /** Resolves with the line that was typed, without white space at its ends. Rejects `cli/failed` when the input ends. */
  ask(question: string, options?: QuestionOptions): Promise<string>
  close(): void
}

/** @param output a terminal, as `input` */
export function openQuestions(input: Input, output: Output): Questions {
  let isHidden = false
  const screen = new Writable({
    write(chunk, _encoding, done) {
      if (!isHidden) output.write(chunk)
      done()
    },
  })
  const lines = createInterface({ input, output: screen, terminal: true })
  const ended = new Promise<never>((_, reject) => {
    lines.once('close', () => reject(new HermesError('cli/failed', 'The input has ended before the last answer.')))
  })
  // There may be no question at that moment.
  ended.catch(() => undefined)
  return {
    async ask(question, options) {
      isHidden = options?.isHidden === true
      if (isHidden) output.write(question)
      // Shown by the interface, which draws the line again while it is edited.
      const answer = (
        await Promise.race([ended, lines.question(isHidden ? '' : question, { signal: options?.signal })])
      ).trim()
      if (isHidden) output.write('\n')
      isHidden = false
      return answer
    },
    close: () => lines.close(),
  }
}

export async function confirm(questions: Questions, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test(await questions.ask(`${question} [y/N] `))
}

/** Asks before a change. Rejects `cli/usage` without a terminal. */
export async function confirmChange(
  { input, errors }: Pick<CliContext, 'input' | 'errors'>,
  question: string,
): Promise<boolean> {
  if (input.isTTY !== true)
    throw new HermesError('cli/usage', `${question} There is no terminal for an answer.`, { hint: 'Use --yes.' })
  const questions = openQuestions(input, errors)
  try {
    return await confirm(questions, question)
  } finally {
    questions.close()
  }
}
