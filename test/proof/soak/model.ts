/**
 * The model of the soak: answers of 15 to 120 words that repeat the number of the question, and tool calls when the
 * question asks for one.
 */
import type { ModelReply, RecordedRequest } from '../../kit/servers/model-script.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'

/** What the question contains when the model shall call a tool. */
export const toolWords = { read: 'read the notes', run: 'run a command' } as const

export interface SoakModel {
  readonly baseUrl: string
  /** Delay between two chunks of an answer, ms; 0 sends the answer at once. */
  chunkDelayMs: number
  stop(): Promise<void>
}

export async function startSoakModel(notes: string): Promise<SoakModel> {
  const reply = (request: RecordedRequest): ModelReply => {
    const pace = model.chunkDelayMs === 0 ? {} : { delayMs: model.chunkDelayMs }
    return { ...answer(request, notes), ...pace }
  }
  const server = await startOpenAiServer({ defaultReply: reply, record: false })
  const model: SoakModel = { baseUrl: server.baseUrl, chunkDelayMs: 0, stop: () => server.stop() }
  return model
}

function answer({ body, lastUserText }: RecordedRequest, notes: string): ModelReply {
  const messages = Array.isArray(body['messages']) ? body['messages'] : []
  const number = Number(/#(\d+)/.exec(lastUserText)?.[1] ?? 0)
  if (messages.at(-1)?.role !== 'tool') {
    if (lastUserText.includes(toolWords.read)) return call(number, 'read_file', { path: notes })
    if (lastUserText.includes(toolWords.run)) return call(number, 'terminal', { command: 'date' })
  }
  const words = Array.from({ length: 15 + ((number * 37) % 106) }, (_, at) => (at % 9 === 8 ? '**word**' : 'word'))
  return { text: `The answer to #${number}: ${words.join(' ')}.` }
}

function call(number: number, name: string, parameters: Readonly<Record<string, unknown>>): ModelReply {
  return { text: 'A moment, please.', toolCalls: [{ id: `call_${number}`, name, arguments: parameters }] }
}
