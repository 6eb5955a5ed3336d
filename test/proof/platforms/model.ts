/**
 * The model of this proof. The first word of the question selects a short answer, a long sentence or many rows.
 */

import type { ModelReply, RecordedRequest } from '../../kit/servers/model-script.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { rowsFor } from './rows.ts'

export interface ProofModel {
  readonly baseUrl: string
  /** Resolves when the model receives this question. Its answer waits until the returned function is called. */
  holdBack(token: string): { readonly asked: Promise<void>; readonly release: () => void }
  stop(): Promise<void>
}

/** Longer replies are shown as drafts; replies to plain questions are not. */
export const draftThreshold = 60

/** `longChars`: the minimum length of the answer to a long question, by the first letter of its chat. */
export async function startProofModel(longChars: ReadonlyMap<string, number>): Promise<ProofModel> {
  const held = new Map<string, { readonly asked: () => void; readonly until: Promise<void> }>()

  function reply({ lastUserText }: RecordedRequest): ModelReply {
    const [, kind = '', token = ''] = /\b(plain|wordy|long) (\w+)/.exec(lastUserText) ?? []
    const answer = `the answer to ${kind} ${token}.`
    const waiting = held.get(token)
    waiting?.asked()
    const gate = waiting === undefined ? {} : { gate: () => waiting.until }
    switch (kind) {
      case 'plain':
        return { text: answer, ...gate }
      case 'wordy':
        return { text: `${longSentence} ${answer}`, delayMs: 15, ...gate }
      case 'long':
        return { text: `${rowsFor(token, longChars.get(token.charAt(0)) ?? 0).join('\n\n')}\n\n${answer}`, ...gate }
      default:
        return { text: `Unexpected question: ${lastUserText}` }
    }
  }

  const server = await startOpenAiServer({ defaultReply: reply, record: false })
  return {
    baseUrl: server.baseUrl,
    holdBack(token) {
      const asked = Promise.withResolvers<void>()
      const until = Promise.withResolvers<void>()
      held.set(token, { asked: asked.resolve, until: until.promise })
      return {
        asked: asked.promise,
        release() {
          held.delete(token)
          until.resolve()
        },
      }
    },
    stop: server.stop,
  }
}

const longSentence =
  'This answer has **many more longSentence** than needed, so that users see it growing on their screens, one chunk after ' +
  'another, until the end of the sentence, which is'
