/**
 * Pictures of chat completions, sent by the official client.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import OpenAI from 'openai'
import { createPng } from '../../kit/pictures.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { startFileServer } from '../../media/file-server.ts'
import { startTestApi } from './support.ts'

const asDataUrl = (content: Buffer, type = 'image/png') => `data:${type};base64,${content.toString('base64')}`

function ask(url: string, text = 'What is this?'): OpenAI.ChatCompletionMessageParam {
  return {
    role: 'user',
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url, detail: 'low' } },
    ],
  }
}

async function setUp(t: TestContext, isAllowed?: (address: string) => boolean) {
  const mediaFolder = join(tempHome(t), 'media')
  const api = await startTestApi(t, { mediaFolder, isAllowed })
  const complete = (...messages: OpenAI.ChatCompletionMessageParam[]) =>
    api.client.chat.completions.create({ model: 'm', messages })
  /** The error of a request with this picture. */
  const refusal = async (url: string) => {
    const error: unknown = await complete(ask(url)).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof OpenAI.BadRequestError, inspect(error))
    assert.equal(error.param, 'messages[0].content[1].image_url.url')
    assert.equal(error.type, 'invalid_request_error')
    return error.code
  }
  return { api, complete, refusal, mediaFolder }
}

test('a data URL becomes a file, and its base64 is not part of the message', async (t) => {
  const { api, complete } = await setUp(t)
  const png = createPng({ width: 20, height: 10 })
  const asked = complete(ask(asDataUrl(png, 'image/jpeg')))
  const { event, end } = await api.next()
  end({ text: 'A square.' })
  assert.equal((await asked).choices[0]?.message.content, 'A square.')
  const [picture] = event.attachments ?? []
  assert.equal(event.text, 'What is this?')
  assert.deepEqual([picture?.kind, picture?.mimeType, picture?.image?.width], ['photo', 'image/png', 20])
  assert.deepEqual(readFileSync(picture?.path ?? ''), png)
  assert.doesNotMatch(JSON.stringify(event), /base64|iVBOR/)
})

test('a picture without words is a message, and earlier messages keep their pictures', async (t) => {
  const { api, complete } = await setUp(t)
  const [first, second] = [createPng({ seed: 1 }), createPng({ seed: 2 })]
  const asked = complete(
    ask(asDataUrl(first), 'And this?'),
    { role: 'assistant', content: 'Grey.' },
    {
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: asDataUrl(second) } }],
    },
  )
  const { event, end } = await api.next()
  end()
  await asked
  assert.equal(event.text, '')
  assert.equal(event.attachments?.length, 1)
  const [earlier] = event.seed?.messages ?? []
  assert.ok(earlier?.role === 'user')
  assert.match(earlier.content, /^\[Attached photo: .*\.png \(image\/png\)\]\nAnd this\?$/)
  assert.equal(earlier.images?.[0]?.bytes, first.length)
})

test('an address is downloaded when the message is accepted', async (t) => {
  const { api, complete } = await setUp(t, () => true)
  const png = createPng()
  const server = await startFileServer(t, (response) => void response.end(png))
  const asked = complete(ask(`${server.origin}/cat.png`))
  const { event, end } = await api.next()
  end()
  await asked
  assert.equal(event.attachments?.[0]?.bytes, png.length)
})

test('addresses in the private network are refused', async (t) => {
  const { refusal } = await setUp(t)
  for (const url of ['http://127.0.0.1:1/x.png', 'http://[::1]/x.png', 'http://169.254.169.254/', 'https://10.0.0.1/x'])
    assert.equal(await refusal(url), 'invalid_image_url', url)
})

test('a picture that models cannot look at is refused with a code', async (t) => {
  const { refusal } = await setUp(t)
  assert.equal(await refusal(asDataUrl(createPng({ width: 30_000, height: 30_000 }))), 'image_too_large')
  assert.equal(await refusal(asDataUrl(createPng({ fill: 5_000_000 }))), 'image_too_large')
  assert.equal(await refusal(asDataUrl(Buffer.alloc(6_500_000))), 'image_too_large')
  assert.equal(await refusal(asDataUrl(Buffer.from('not a picture'))), 'unsupported_image')
  assert.equal(await refusal(asDataUrl(createPng().subarray(0, 40))), 'unsupported_image')
  assert.equal(await refusal('data:image/png;base64,%%%'), 'invalid_base64')
  assert.equal(await refusal('data:image/svg+xml,<svg/>'), 'invalid_base64')
})

test('pictures of a response are stored in the same way, from data and from an address', async (t) => {
  const { api } = await setUp(t, () => true)
  const png = createPng({ width: 20, height: 10 })
  const server = await startFileServer(t, (response) => void response.end(png))
  const image = (url: string): OpenAI.Responses.ResponseInputImage => ({
    type: 'input_image',
    image_url: url,
    detail: 'auto',
  })
  const content = [
    { type: 'input_text' as const, text: 'Which is larger?' },
    image(asDataUrl(createPng({ seed: 2 }))),
    image(`${server.origin}/cat.png`),
  ]
  const asked = api.client.responses.create({ model: 'm', input: [{ role: 'user', content }] })
  const { event, end } = await api.next()
  end({ text: 'The second.' })
  assert.equal((await asked).output_text, 'The second.')
  assert.deepEqual([event.text, event.attachments?.length], ['Which is larger?', 2])
  assert.equal(event.attachments?.[1]?.bytes, png.length)
})

test('a response with an address in the private network is refused', async (t) => {
  const { api } = await setUp(t)
  const image = { type: 'input_image' as const, image_url: 'http://169.254.169.254/', detail: 'auto' as const }
  const asked = api.client.responses.create({ model: 'm', input: [{ role: 'user', content: [image] }] })
  await assert.rejects(asked, { status: 400, param: 'input[0].content[0].image_url.url', code: 'invalid_image_url' })
})
