/**
 * The largest request of a turn with ninety calls whose results are 50 kB each.
 */
import { z } from 'zod'
import type { Figure, Row } from '../figure.ts'
import { withChat } from '../kit/chat.ts'
import { withGateway } from '../kit/gateway.ts'
import { withModel } from '../kit/model.ts'

const recordedSchema = z.object({
  requests: z.array(z.object({ body: z.object({ messages: z.array(z.unknown()), tools: z.array(z.unknown()) }) })),
})

const contextLength = 128_000
const calls = 89
const charsPerToken = 4

export const window: Figure = {
  name: 'window',
  about: 'the largest request of a turn with 90 iterations and 50 kB results',
  measure: () => {
    const lines = Array.from({ length: 200 }, (_, at) => `${at} ${'x'.repeat(1_000)}`).join('\n')
    const replies = Array.from({ length: calls }, (_, at) => ({
      toolCalls: [{ name: 'read_file', arguments: { path: 'long.txt', offset: at + 1, limit: 49 } }],
    }))
    return measured(lines, replies)
  },
}

function measured(lines: string, replies: readonly object[]): Promise<Row[]> {
  return withModel({ record: true, replies }, (model) =>
    withChat((chat) =>
      withGateway(
        {
          config: `platforms: { wire: { enabled: true, url: "${chat.url}", allow_from: [u1] } }
roles: { owners: ["wire:u1"] }
context_length: ${contextLength}
terminal: { sandbox: off }`,
          modelUrl: model.baseUrl,
          files: { 'long.txt': lines },
        },
        async (gateway) => {
          await chat.load({ run: 'r', chats: 1, turns: 1, sessionsEach: 1, word: 'hi' })
          const answer: unknown = await (await fetch(`${model.origin}/_requests`)).json()
          const { requests } = recordedSchema.parse(answer)
          const sizes = requests.map(({ body }) => JSON.stringify(body).length / charsPerToken)
          const all = requests.length * 50_000
          return [
            {
              name: 'largest request of a turn of 90 iterations',
              measured: Math.max(...sizes) / contextLength,
              unit: '×',
              bar: 1,
              baseline: { what: 'all results', value: all / charsPerToken / contextLength },
              note: `${requests.length} requests, the largest has ${Math.round(Math.max(...sizes))} of ${contextLength} tokens; CPU ${Math.round(await gateway.cpuMs())} ms`,
            },
          ]
        },
      ),
    ),
  )
}
