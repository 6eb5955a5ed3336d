/**
 * Sends pictures to a model, and measures by how much each request raises the peak of the memory of this process. Arguments: the
 * address of the model server and the folder of pictures.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OpenAI } from 'openai'
import { z } from 'zod'
import { createProvider } from '../../../src/agent/models/create-provider.ts'
import type { ImagePart } from '../../../src/message/transcript.ts'
import { handleRequest } from './child-requests.ts'

const [baseUrl = '', folder = ''] = process.argv.slice(2)
const settings = { provider: 'custom', model: 'gpt-5.2', baseUrl, apiKey: 'k', variables: {} }
const created = createProvider(settings, { picturesFolder: folder })
if ('problem' in created) throw created.problem
const { provider } = created
const client = new OpenAI({ baseURL: baseUrl, apiKey: 'k', maxRetries: 0 })

async function sendByProvider(images: readonly ImagePart[]): Promise<void> {
  const message = { role: 'user' as const, content: 'What is this?', ...(images.length === 0 ? {} : { images }) }
  const request = provider.buildRequest({ model: 'gpt-5.2', system: '', messages: [message], tools: [] })
  for await (const _chunk of provider.stream(request, new AbortController().signal));
}

/** What most gateways do: the whole picture is a part of the request. */
async function sendWhole(images: readonly ImagePart[]): Promise<void> {
  const parts = await Promise.all(
    images.map(async ({ file, mimeType }) => {
      const content = await readFile(join(folder, file), 'base64')
      return { type: 'image_url' as const, image_url: { url: `data:${mimeType};base64,${content}` } }
    }),
  )
  const content = [{ type: 'text' as const, text: 'What is this?' }, ...parts]
  const stream = await client.chat.completions.create({
    model: 'gpt-5.2',
    messages: [{ role: 'user', content }],
    stream: true,
  })
  for await (const _chunk of stream);
}

function statusMb(field: 'VmHWM' | 'VmRSS'): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))
  return Number(found?.[1]) / 1_024
}

/** MB between the memory before and the peak. */
async function peakOf(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.()
  // Resets the peak.
  writeFileSync('/proc/self/clear_refs', '5')
  const before = statusMb('VmRSS')
  await work()
  return Math.max(0, statusMb('VmHWM') - before)
}

const measureSchema = z.object({ how: z.enum(['provider', 'whole']), images: z.array(z.custom<ImagePart>()) })

handleRequest('measure', measureSchema, async ({ how, images }) => {
  const send = how === 'provider' ? sendByProvider : sendWhole
  return { mb: await peakOf(() => send(images)) }
})
process.send?.('up')
