/**
 * The size of a model request for a message of one word, with the default tools.
 */
import { z } from 'zod'
import type { Figure } from '../figure.ts'
import { withChat } from '../kit/chat.ts'
import { withGateway } from '../kit/gateway.ts'
import { withModel } from '../kit/model.ts'

const recordedSchema = z.object({
  requests: z.array(
    z.object({
      headers: z.record(z.string(), z.unknown()),
      body: z.object({ messages: z.array(z.unknown()), tools: z.array(z.unknown()).default([]) }),
    }),
  ),
})

export const request: Figure = {
  name: 'request',
  about: 'size of the request for a one-word message, with the default tools and with all of them',
  async measure() {
    const usual = await requestWith('')
    const all = await requestWith('browser: { cdp_url: "http://127.0.0.1:9" }\nagent: { image_input_mode: native }', {
      '.env': 'TAVILY_API_KEY=tvly-0123456789\nOPENAI_API_KEY=sk-0123456789\n',
    })
    return [
      { name: 'request for a one-word message', bar: 8_000, unit: 'bytes', ...usual },
      { name: 'request with all toolsets', bar: 24_000, unit: 'bytes', ...all },
    ]
  },
}

/** @param more lines of config.yaml */
async function requestWith(
  more: string,
  files: Readonly<Record<string, string>> = {},
): Promise<{ measured: number; note: string }> {
  return await withModel({ record: true }, (model) =>
    withChat((chat) =>
      withGateway(
        {
          config: `platforms: { wire: { enabled: true, url: "${chat.url}", allow_from: [u1] } }\n${more}`,
          modelUrl: model.baseUrl,
          files,
        },
        async () => {
          await chat.load({ run: 'r', chats: 1, turns: 1, sessionsEach: 1, word: 'hi' })
          const answer: unknown = await (await fetch(`${model.origin}/_requests`)).json()
          const [sent] = recordedSchema.parse(answer).requests
          if (sent === undefined) throw new Error('the model was not asked')
          const tools = Buffer.byteLength(JSON.stringify(sent.body.tools))
          return {
            measured: Number(sent.headers['content-length']),
            note: `${sent.body.tools.length} tools are ${tools} bytes of it, messages ${Buffer.byteLength(JSON.stringify(sent.body.messages))}`,
          }
        },
      ),
    ),
  )
}
