/**
 * Requests of Open WebUI, LibreChat and openai-python, as files. `source` says where the shape is from: it was recorded, or read in the
 * public sources of the client.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { isRecord } from '../../../src/lib/json.ts'
import { secret } from '../../http/support.ts'
import { createPng } from '../../kit/pictures.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { startTestApi, type TestApi } from './support.ts'

const pixel = 'data:image/png;base64,iVBORw0KGgo='
const folder = new URL('./requests/', import.meta.url)

interface ClientRequest {
  readonly source: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly expect:
    | { readonly status: number; readonly param: string }
    | {
        /** The text of the message that the gateway accepts. */
        readonly text: string
        /** The roles of the messages before it. */
        readonly roles: readonly string[]
        readonly instructions?: string
        readonly pictures?: number
        readonly stream?: boolean
      }
}

function readRequest(file: string): ClientRequest {
  const picture = `data:image/png;base64,${createPng().toString('base64')}`
  return JSON.parse(readFileSync(new URL(file, folder), 'utf8').replaceAll('{{picture}}', picture))
}

function send(api: TestApi, { path, headers, body }: ClientRequest): Promise<Response> {
  const all = { ...headers, authorization: `Bearer ${secret}` }
  return fetch(`${api.url}${path}`, { method: 'POST', headers: all, body: JSON.stringify(body) })
}

for (const file of readdirSync(folder)) {
  const request = readRequest(file)
  const { expect: expected } = request
  if ('status' in expected) {
    it(`${file} is refused with the name of the field`, async (t) => {
      const response = await send(await startTestApi(t), request)
      const answer: unknown = await response.json()
      assert.ok(isRecord(answer) && isRecord(answer['error']))
      assert.deepEqual([response.status, answer['error']['param']], [expected.status, expected.param])
    })
    continue
  }
  it(`${file} is answered as it is sent`, async (t) => {
    const api = await startTestApi(t, { mediaFolder: join(tempHome(t), 'media') })
    const asked = send(api, request)
    const { event, end } = await api.next()
    end({ text: 'four' })
    const response = await asked
    assert.equal(response.status, 200)
    const text = await response.text()
    assert.match(text, /four/)
    const type = response.headers.get('content-type') ?? ''
    assert.equal(type.startsWith('text/event-stream'), expected.stream === true)
    assert.equal(event.text, expected.text)
    assert.deepEqual(event.seed?.messages.map(({ role }) => role) ?? [], expected.roles)
    assert.equal(event.seed?.instructions, expected.instructions)
    assert.equal(event.attachments?.length ?? 0, expected.pictures ?? 0)
  })
}

it('the list of models has what Open WebUI and LibreChat read', async (t) => {
  const api = await startTestApi(t)
  const response = await fetch(`${api.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
  const list: unknown = await response.json()
  assert.ok(isRecord(list) && Array.isArray(list['data']))
  assert.equal(list['object'], 'list')
  const [model] = list['data']
  assert.deepEqual([typeof model.id, model.object, typeof model.owned_by], ['string', 'model', 'string'])
})

it('a picture of a response that cannot be used is named', async (t) => {
  const api = await startTestApi(t)
  const content = [
    { type: 'input_text' as const, text: 'What is this?' },
    { type: 'input_image' as const, image_url: pixel, detail: 'auto' as const },
  ]
  const asked = api.client.responses.create({ model: 'm', input: [{ role: 'user', content }] })
  await assert.rejects(asked, { status: 400, param: 'input[0].content[1].image_url.url', code: 'unsupported_image' })
})
