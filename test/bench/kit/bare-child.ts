/**
 * The baseline of a turn: poll, ask the model with the same official SDK, send. There is no queue, no storage, no log
 * and no tool. The conversation is kept in memory. The first argument contains the settings as JSON: `chatUrl`,
 * `modelUrl`.
 */
import OpenAI from 'openai'
import { z } from 'zod'
import { poll, send, type Update } from '../platforms/wire/client.ts'
import { handleRequest } from './child-requests.ts'

const { chatUrl, modelUrl } = z
  .object({ chatUrl: z.string(), modelUrl: z.string() })
  .parse(JSON.parse(process.argv[2] ?? '{}'))

type Message = { role: 'system' | 'user' | 'assistant'; content: string }

const client = new OpenAI({ apiKey: 'none', baseURL: modelUrl, maxRetries: 0 })
const chats = new Map<string, Message[]>()

async function reply({ chat, text }: Update): Promise<void> {
  const messages = chats.get(chat) ?? [{ role: 'system', content: 'You are a helpful agent.' }]
  chats.set(chat, messages)
  messages.push({ role: 'user', content: text })
  const stream = await client.chat.completions.create({ model: 'bench', messages, stream: true })
  let content = ''
  for await (const chunk of stream) content += chunk.choices[0]?.delta.content ?? ''
  messages.push({ role: 'assistant', content })
  await send(chatUrl, chat, content)
}

const stopped = new AbortController()
// The next poll does not wait for the replies, as in the gateway.
poll(
  chatUrl,
  async (update) => {
    reply(update).catch((error) => process.stderr.write(`${error}\n`))
  },
  stopped.signal,
).catch((error) => process.stderr.write(`${error}\n`))

handleRequest('cpu', z.looseObject({}), () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
})
process.send?.('up')
