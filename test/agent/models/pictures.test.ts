/** Pictures in the requests of the three APIs, as the vendors receive them. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { isSeeingModel } from '../../../src/agent/models/catalogue.ts'
import { createProvider, type ProviderSettings } from '../../../src/agent/models/create-provider.ts'
import { createModelCallMonitor, type ModelCallMonitor } from '../../../src/agent/models/model-call-monitor.ts'
import { normalizeMessages } from '../../../src/agent/models/normalize-messages.ts'
import type { ApiMode, Provider, RequestInput } from '../../../src/agent/models/provider.ts'
import { createLog } from '../../../src/lib/log-writer.ts'
import { picturePath, storePicture } from '../../../src/media/pictures.ts'
import type { ChatMessage, ImagePart } from '../../../src/message/transcript.ts'
import { runCall } from '../../kit/contracts/provider-run.ts'
import { createPng } from '../../kit/pictures.ts'
import { startAnthropicServer } from '../../kit/servers/anthropic-server.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { tempHome } from '../../kit/temp-home.ts'

const modes = ['chat_completions', 'codex_responses', 'anthropic_messages'] as const

function conversation(sent: ImagePart, screenshot: ImagePart): ChatMessage[] {
  return [
    { role: 'user', content: 'What is this?', images: [sent] },
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'browse', arguments: '{}' }] },
    { role: 'tool', toolCallId: 'c1', name: 'browse', content: '{"ok":true}', images: [screenshot] },
    { role: 'user', content: 'And now?' },
  ]
}

function inputOf(messages: readonly ChatMessage[], model = 'gpt-4o'): RequestInput {
  return { model, system: '', messages, tools: [{ name: 'browse', description: '', parameters: { type: 'object' } }] }
}

async function open(
  t: TestContext,
  apiMode: ApiMode,
  more: Partial<ProviderSettings> = {},
  monitor?: ModelCallMonitor,
) {
  const folder = tempHome(t)
  const server = await (apiMode === 'anthropic_messages' ? startAnthropicServer() : startOpenAiServer())
  t.after(() => server.stop())
  const created = createProvider(
    { provider: 'custom', model: 'gpt-4o', baseUrl: server.baseUrl, apiKey: 'k', apiMode, variables: {}, ...more },
    { picturesFolder: folder, ...(monitor && { monitor }) },
  )
  assert.ok('provider' in created)
  return { folder, server, provider: created.provider }
}

const send = (provider: Provider, input: RequestInput) => runCall(provider, provider.buildRequest(input))

/** The message of a request that has the pictures, in each format. */
function expectedParts(mode: ApiMode, sent: Buffer, shown: Buffer): readonly unknown[] {
  const [one, two] = [sent.toString('base64'), shown.toString('base64')]
  switch (mode) {
    case 'chat_completions':
      return [
        [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${one}` } },
        ],
        [
          { type: 'text', text: '[The pictures of the results above, not sent by the user]' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${two}` } },
          { type: 'text', text: '[Next message]\n\nAnd now?' },
        ],
      ]
    case 'codex_responses':
      return [
        [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: `data:image/png;base64,${one}`, detail: 'auto' },
        ],
        [
          { type: 'input_text', text: '{"ok":true}' },
          { type: 'input_image', image_url: `data:image/png;base64,${two}`, detail: 'auto' },
        ],
      ]
    case 'anthropic_messages':
      return [
        [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: one } },
        ],
        [
          { type: 'text', text: '{"ok":true}' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: two } },
        ],
      ]
  }
}

/** All lists of parts that contain a picture. */
function partsWithPictures(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap(partsWithPictures)
  const isList = Array.isArray(value) && value.some((part) => /^(image|image_url|input_image)$/.test(part?.type))
  return isList
    ? [JSON.parse(JSON.stringify(value, (key, one) => (key === 'cache_control' ? undefined : one))), ...inner]
    : inner
}

for (const mode of modes) {
  test(`${mode}: the vendor receives the content of each picture, and nothing else ever holds it`, async (t) => {
    const { folder, server, provider } = await open(t, mode)
    // Neither a multiple of three nor of the pieces in which a file is read.
    const [first, second] = [createPng({ fill: 500_001 }), createPng({ seed: 1 })]
    const input = inputOf(conversation(await storePicture(folder, first), await storePicture(folder, second)))
    server.enqueue({ text: 'a dot' })
    await send(provider, input)
    assert.deepEqual(partsWithPictures(server.requests[0]?.body), expectedParts(mode, first, second))
    const built = JSON.stringify(provider.buildRequest(input))
    assert.ok(built.length < 3_000)
    assert.equal(built.match(/hermes-picture:[0-9a-f]{64}\.png/g)?.length, 2)
  })

  test(`${mode}: the same picture twice, and none, are sent as they are`, async (t) => {
    const { folder, server, provider } = await open(t, mode)
    const picture = createPng()
    const part = await storePicture(folder, picture)
    server.enqueue({ text: 'one' }, { text: 'two' })
    await send(provider, inputOf(conversation(part, part)))
    assert.deepEqual(partsWithPictures(server.requests[0]?.body), expectedParts(mode, picture, picture))
    await send(provider, inputOf([{ role: 'user', content: 'hermes-picture:none' }]))
    assert.deepEqual(partsWithPictures(server.requests[1]?.body), [])
  })

  test(`${mode}: a picture whose file was deleted is a text, and the others are sent`, async (t) => {
    const { folder, server, provider } = await open(t, mode)
    const [lost, kept] = [await storePicture(folder, createPng()), await storePicture(folder, createPng({ seed: 1 }))]
    rmSync(picturePath(folder, lost))
    server.enqueue({ text: 'one is missing' })
    await send(provider, inputOf(conversation(lost, kept)))
    const body = JSON.stringify(server.requests[0]?.body)
    assert.match(body, /its file is missing/)
    assert.equal(partsWithPictures(server.requests[0]?.body).length, 1)
    assert.doesNotMatch(body, /hermes-picture/)
  })

  test(`${mode}: a provider that refuses pictures gets the messages without them`, async (t) => {
    const { folder, server, provider } = await open(t, mode)
    const part = await storePicture(folder, createPng())
    server.enqueue(
      { error: { status: 400, body: { error: { message: 'this model does not support image input' } } } },
      { text: 'I see none' },
    )
    await send(provider, inputOf(conversation(part, part)))
    assert.equal(server.requests.length, 2)
    assert.equal(partsWithPictures(server.requests[0]?.body).length, 2)
    assert.deepEqual(partsWithPictures(server.requests[1]?.body), [])
    assert.match(JSON.stringify(server.requests[1]?.body), /What is this\?.*does not accept it/)
  })

  test(`${mode}: a model that does not see gets the text alone`, async (t) => {
    const { folder, provider } = await open(t, mode)
    const part = await storePicture(folder, createPng())
    const shown = inputOf(conversation(part, part))
    const texts = conversation(part, part).map((message): ChatMessage => {
      if (message.role === 'assistant') return message
      const { images: _images, ...rest } = message
      return rest
    })
    const plain = { ...shown, messages: texts, model: 'deepseek-chat' }
    assert.deepEqual(provider.buildRequest({ ...shown, model: 'deepseek-chat' }), provider.buildRequest(plain))
  })
}

test('a model whose provider refuses pictures is asked once, and is shown none until the next start', async (t) => {
  const lines: unknown[] = []
  const log = createLog({
    level: 'warn',
    pretty: false,
    redactor: (line: string) => line,
    stream: { write: (line) => void lines.push(JSON.parse(line)) },
  })
  const monitor = createModelCallMonitor({ log })
  const first = await open(t, 'chat_completions', {}, monitor)
  const part = await storePicture(first.folder, createPng())
  const refusal = (message: string) => ({ error: { status: 400, body: { error: { message } } } })
  first.server.enqueue(refusal('The image is too large'), { text: 'none' })
  await send(first.provider, inputOf(conversation(part, part)))
  assert.equal(first.provider.sees?.('gpt-4o'), true, 'another picture may be accepted')
  first.server.enqueue(refusal('this model does not support image input'), { text: 'none' }, { text: 'none' })
  await send(first.provider, inputOf(conversation(part, part)))
  await send(first.provider, inputOf(conversation(part, part)))
  assert.equal(first.server.requests.length, 5)
  assert.deepEqual(partsWithPictures(first.server.requests[4]?.body), [])
  assert.equal(first.provider.sees?.('gpt-4o'), false)
  assert.equal(first.provider.sees?.('gpt-4o-mini'), true)
  assert.deepEqual(
    lines.map((line) => Object(line).event),
    ['model.pictures_refused'],
  )
})

test('the configuration says which models see, before their names do', async (t) => {
  const seen = async (more: Partial<ProviderSettings>) => {
    const { provider } = await open(t, 'chat_completions', more)
    return ['gpt-4o', 'my-model', 'other'].map((model) => provider.sees?.(model))
  }
  assert.deepEqual(await seen({}), [true, false, false])
  assert.deepEqual(await seen({ imageInputMode: 'native' }), [true, true, true])
  assert.deepEqual(await seen({ imageInputMode: 'text' }), [false, false, false])
  const server = { supports_vision: true, models: { other: { supports_vision: false } } }
  assert.deepEqual(await seen({ providers: { custom: server } }), [true, true, false])
})

test('models are known to read pictures by their names', () => {
  const seeing =
    'gpt-4o gpt-4o-mini gpt-4.1 gpt-5.2 gpt-5-mini openai/gpt-5 o3 o4-mini o1 o3-pro chatgpt-4o-latest claude-sonnet-5 claude-3-5-haiku-latest anthropic/claude-opus-4.1 gemini-2.5-pro google/gemini-3-flash gemma3:12b gemma-3-27b-it grok-4 grok-2-vision-1212 glm-4.5v glm-4.6v kimi-k2.5 qwen2.5-vl-72b-instruct qwen3-vl-plus qwen2.5vl:7b llama4:scout meta-llama/llama-4-maverick llama3.2-vision llama-3.2-90b-vision-instruct pixtral-12b mistral-medium-latest mistral-small3.2 llava:13b minicpm-v:8b nova-pro-v1'
  const blind =
    'gpt-3.5-turbo gpt-4 gpt-oss-120b o1-mini o3-mini o1-preview gpt-4o-audio-preview claude-2.1 deepseek-chat deepseek-reasoner grok-3 grok-code-fast-1 glm-4.6 kimi-k2-0905-preview MiniMax-M2 llama3.1:8b llama-3.3-70b qwen3-coder qwen2.5:7b gemma3:1b mistral-nemo codestral-latest phi4 hermes-4-405b'
  assert.deepEqual(
    seeing.split(' ').filter((name) => !isSeeingModel(name)),
    [],
  )
  assert.deepEqual(blind.split(' ').filter(isSeeingModel), [])
})

test('a request has room for twenty pictures, and the oldest leave it five at a time', () => {
  const messages = (count: number): ChatMessage[] =>
    Array.from({ length: count }, (_, index) => [
      { role: 'user' as const, content: `${index}`, images: [partOf(index)] },
      { role: 'assistant' as const, content: 'ok' },
    ]).flat()
  const shown = (list: readonly ChatMessage[]) =>
    normalizeMessages(list, 'codex_responses', true).flatMap((one) =>
      one.role === 'user' ? (one.parts ?? []).filter((part) => typeof part !== 'string') : [],
    )
  assert.deepEqual(
    [1, 20, 21, 25, 26, 1_000].map((count) => shown(messages(count)).length),
    [1, 20, 16, 20, 16, 20],
  )
  const large = Array.from({ length: 8 }, (_, index) => partOf(index, 5_000_000))
  const eight: ChatMessage[] = [...messages(2), { role: 'user', content: 'eight', images: large }]
  assert.deepEqual(shown(eight), large.slice(4))
  assert.match(
    JSON.stringify(normalizeMessages(eight, 'codex_responses', true)),
    /The first 4 pictures of this message/,
  )
})

function partOf(index: number, bytes = 1_000): ImagePart {
  const file = `${String(index).padStart(64, '0')}.png`
  return { type: 'image', file, mimeType: 'image/png', bytes, width: 10, height: 10 }
}
