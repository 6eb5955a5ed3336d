/**
 * The tools that make sound and pictures: what they make is sent to the person, once.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { asRecord } from '../../src/lib/json.ts'
import { type MediaReply, type MediaRequest, onePixel, startMediaServer } from '../kit/servers/media-server.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { conversation } from './support.ts'

const draws: ModelReply = {
  toolCalls: [{ name: 'image_generate', arguments: { prompt: 'a cat', aspect_ratio: 'square' } }],
}
const speaks: ModelReply = { toolCalls: [{ name: 'text_to_speech', arguments: { text: '# Hello **there**' } }] }

interface MakerOptions extends Omit<TestGatewayOptions, 'config'> {
  readonly reply?: (request: MediaRequest) => MediaReply | undefined
  readonly image?: (baseUrl: string, origin: string) => object
}

async function startWithMakers(t: TestContext, { reply, image, ...options }: MakerOptions) {
  const vendor = await startMediaServer(t, reply)
  const server = { base_url: vendor.baseUrl, api_key: 'maker-key' }
  const gateway = await startTestGateway(t, {
    capabilities: ['files'],
    ...options,
    config: { tts: server, image_gen: image?.(vendor.baseUrl, vendor.origin) ?? server },
  })
  return { gateway, vendor }
}

/** The result of the last tool call, as the model reads it. */
function resultIn(request: RecordedRequest | undefined): Readonly<Record<string, unknown>> {
  const text = conversation(request).findLast((one) => one.startsWith('tool: ')) ?? 'tool: {}'
  return asRecord(JSON.parse(text.slice('tool: '.length)))
}

const filesOf = (gateway: TestGateway) =>
  gateway.platform.shown().flatMap(({ file }) => (file === undefined ? [] : [file]))

const toolNames = (request: RecordedRequest | undefined) => {
  const tools = request?.body['tools']
  return Array.isArray(tools) ? tools.map((tool) => asRecord(asRecord(tool)['function'])['name']) : []
}

test('a picture that the model asks for is shown to the person, and the model learns its path', async (t) => {
  const { gateway, vendor } = await startWithMakers(t, { replies: [draws, { text: 'Here it is.' }] })
  await gateway.say('draw a cat')
  await gateway.waitForReply('Here it is.')
  const result = resultIn(gateway.model.requests[1])
  assert.equal(result['shown_to_user'], true)
  assert.deepEqual(readFileSync(String(result['path'])), onePixel)
  assert.match(String(result['path']), /\/media\/\d{4}-\d\d-\d\d\/picture-[0-9a-f]{32}\.png$/)
  assert.deepEqual(
    filesOf(gateway).map(({ content }) => Buffer.from(content)),
    [onePixel],
  )
  assert.deepEqual(vendor.requests[0]?.fields, { prompt: 'a cat', model: 'gpt-image-1.5', size: '1024x1024', n: 1 })
  assert.ok(!gateway.log.join('').includes('maker-key'))
})

test('a file that a tool has shown is not sent again when the model names it', async (t) => {
  const { gateway } = await startWithMakers(t, {
    model: (request) => {
      const { path } = resultIn(request)
      return path === undefined ? draws : { text: `Done.\nMEDIA:${path}` }
    },
  })
  await gateway.say('draw a cat')
  await gateway.waitForReply('Done.')
  await gateway.say('thanks')
  await gateway.waitForLogLine(2, { event: 'turn.ended' })
  assert.equal(filesOf(gateway).length, 1)
})

test('FAL draws where it is chosen, and its picture is fetched', async (t) => {
  const { gateway, vendor } = await startWithMakers(t, {
    replies: [draws, { text: 'Here it is.' }],
    image: (_, origin) => ({ provider: 'fal', base_url: origin, api_key: 'fal-key' }),
  })
  await gateway.say('draw a cat')
  await gateway.waitForReply('Here it is.')
  assert.equal(filesOf(gateway).length, 1)
  const [request, picture] = vendor.requests
  assert.equal(request?.path, '/fal-ai/flux-2/klein/9b')
  assert.equal(request.authorization, 'Key fal-key')
  assert.deepEqual(request.fields, { prompt: 'a cat', image_size: 'square_hd', num_images: 1 })
  assert.equal(picture?.authorization, '')
})

const refusals: readonly (readonly [string, MakerOptions])[] = [
  [
    'OpenAI',
    {
      reply: () => ({
        status: 400,
        json: {
          error: {
            message: 'Your request was rejected by the safety system.',
            type: 'image_generation_user_error',
            code: 'moderation_blocked',
          },
        },
      }),
    },
  ],
  [
    'FAL',
    {
      image: (_, origin) => ({ provider: 'fal', base_url: origin, api_key: 'fal-key' }),
      reply: () => ({ json: { images: [{ url: 'https://example.com/black.png' }], has_nsfw_concepts: [true] } }),
    },
  ],
]

for (const [vendor, options] of refusals) {
  test(`the model learns in plain words that ${vendor} refuses a picture`, async (t) => {
    const { gateway } = await startWithMakers(t, { ...options, replies: [draws, { text: 'I may not draw that.' }] })
    await gateway.say('draw')
    await gateway.waitForReply('I may not draw that.')
    assert.match(conversation(gateway.model.requests[1]).at(-1) ?? '', /rules for content.*"code":"refused"/)
    assert.equal(filesOf(gateway).length, 0)
  })
}

test('a picture at a private address is not fetched', async (t) => {
  const other = await startMediaServer(t)
  const { gateway } = await startWithMakers(t, {
    replies: [draws, { text: 'It did not work.' }],
    reply: () => ({ json: { data: [{ url: `${other.origin}/picture.png` }] } }),
  })
  await gateway.say('draw')
  await gateway.waitForReply('It did not work.')
  assert.match(conversation(gateway.model.requests[1]).at(-1) ?? '', /not allowed/)
  assert.equal(other.requests.length, 0)
})

test('a text that the model speaks arrives as a voice message, and the answer is not spoken once more', async (t) => {
  const { gateway, vendor } = await startWithMakers(t, { replies: [speaks, { text: 'I said hello.' }] })
  await gateway.say('/voice tts')
  await gateway.waitForReply('Voice: **tts**')
  await gateway.say('say hello')
  await gateway.waitForReply('I said hello.')
  assert.equal(filesOf(gateway).length, 1)
  assert.equal(vendor.requests[0]?.fields['input'], 'Hello there')
  assert.equal(vendor.requests.length, 1)
  assert.equal(resultIn(gateway.model.requests[1])['shown_to_user'], true)
})

test('/stop ends a drawing', async (t) => {
  const held = Promise.withResolvers<void>()
  t.after(() => held.resolve())
  const { gateway, vendor } = await startWithMakers(t, { replies: [draws], reply: () => ({ gate: held.promise }) })
  await gateway.say('draw')
  await vendor.request(0)
  await gateway.say('/stop')
  await gateway.waitForLog({ event: 'turn.ended', state: 'stopped' })
  assert.equal(filesOf(gateway).length, 0)
})

test('the tools are offered only where a key or a program is configured', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  const names = toolNames(gateway.model.requests[0])
  assert.ok(names.includes('todo'))
  assert.deepEqual(
    names.filter((name) => name === 'text_to_speech' || name === 'image_generate'),
    [],
  )
})
