/**
 * Asks questions in a terminal. What is typed as the answer to a hidden question is not shown.
 */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Input, Output } from './context.ts'

export interface Questions {
  /** Resolves with the line that was typed, without white space at its ends. */
  ask(question: string, options?: { readonly isHidden: boolean }): Promise<string>
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
  return {
    async ask(question, options) {
      output.write(question)
      isHidden = options?.isHidden === true
      const answer = (await lines.question('')).trim()
      if (isHidden) output.write('\n')
      isHidden = false
      return answer
    },
    close: () => lines.close(),
  }
}
