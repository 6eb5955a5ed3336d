/**
 * The plugin for Home Assistant in a whole gateway, against a server that speaks its REST API.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/lib/json.ts'
import { asArray, isRecord } from '../../../src/sdk.ts'
import { startFileServer } from '../../media/file-server.ts'
import { hasResult } from '../../stories/support.ts'
import { startWithBundledPlugins } from './support.ts'

const states = [
  {
    entity_id: 'light.kitchen',
    state: 'on',
    attributes: { friendly_name: 'Kitchen lamp', brightness: 120 },
    last_changed: 'x',
  },
  { entity_id: 'sensor.out', state: '7.5', attributes: { friendly_name: 'Outside', area: 'Garden' } },
  { entity_id: 'light.hall', state: 'off', attributes: {} },
]

const services = [
  {
    domain: 'light',
    services: { turn_on: { description: 'Turns on', fields: { brightness: { description: '0 to 255' } } } },
  },
  { domain: 'todo', services: { get_items: { description: 'Lists' } } },
]

interface Asked {
  readonly path: string
  readonly body: unknown
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? ''
  const send = (status: number, value: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (request.headers.authorization !== 'Bearer the-token') return void send(401, { message: 'no' })
  if (path === '/api/states') return void send(200, states)
  if (path === '/api/states/light.kitchen') return void send(200, states[0])
  if (path === '/api/services') return void send(200, services)
  if (path === '/api/services/light/turn_on?return_response')
    return void send(400, { message: 'Service does not support responses. Remove return_response from request.' })
  if (path === '/api/services/light/turn_on') return void send(200, [{ entity_id: 'light.hall', state: 'on' }])
  if (path === '/api/services/todo/get_items?return_response')
    return void send(200, { changed_states: [], service_response: { 'todo.list': { items: ['milk'] } } })
  send(404, { message: 'Entity not found.' })
}

/** Lets the model call a tool, once with each of the arguments, and returns the results with what Home Assistant received. */
async function callTool(
  t: TestContext,
  name: string,
  all: readonly JsonObject[],
  { token = 'the-token', settings = {} } = {},
) {
  const asked: Asked[] = []
  const { origin } = await startFileServer(t, async (response, request) => {
    const sent = await text(request)
    const body: unknown = sent === '' ? undefined : JSON.parse(sent)
    asked.push({ path: request.url ?? '', body })
    await answer(request, response)
  })
  const gateway = await startWithBundledPlugins(
    t,
    { homeassistant: settings },
    {
      config: { roles: { guest: { tools: ['*', 'homeassistant'] } } },
      prepare: ({ root }) => {
        writeFileSync(join(root, '.env'), `HASS_TOKEN=${token}\nHASS_URL=${origin}/\n`, { mode: 0o600 })
      },
      model: (request) =>
        hasResult(request) ? { text: 'done' } : { toolCalls: all.map((args) => ({ name, arguments: args })) },
    },
  )
  await gateway.say('do it')
  await gateway.waitForReply('done')
  const messages = asArray((await gateway.modelRequest(1)).body['messages']).slice(-all.length)
  const results = messages.map((message): unknown => JSON.parse(isRecord(message) ? String(message['content']) : ''))
  return { results, result: results[0], asked, log: gateway.log.join('') }
}

test('devices are listed by domain and by a part of their name or area', async (t) => {
  const lights = await callTool(t, 'ha_list_entities', [{ domain: 'light' }])
  assert.deepEqual(lights.result, {
    result: {
      count: 2,
      entities: [
        { entity_id: 'light.kitchen', state: 'on', friendly_name: 'Kitchen lamp' },
        { entity_id: 'light.hall', state: 'off', friendly_name: '' },
      ],
    },
  })
  const garden = await callTool(t, 'ha_list_entities', [{ area: 'gard' }])
  assert.match(JSON.stringify(garden.result), /"count":1.*sensor\.out/)
})

test('the state of a device has its attributes', async (t) => {
  const { result } = await callTool(t, 'ha_get_state', [{ entity_id: 'light.kitchen' }])
  assert.match(JSON.stringify(result), /"brightness":120/)
})

test('services are listed with their fields', async (t) => {
  const { result } = await callTool(t, 'ha_list_services', [{ domain: 'light' }])
  assert.deepEqual(result, {
    result: {
      count: 1,
      domains: [
        { domain: 'light', services: { turn_on: { description: 'Turns on', fields: { brightness: '0 to 255' } } } },
      ],
    },
  })
})

test('a service is called for a device, also when it has no response', async (t) => {
  const data = '{"brightness": 80}'
  const args = { domain: 'light', service: 'turn_on', entity_id: 'light.hall', data }
  const { result, asked } = await callTool(t, 'ha_call_service', [args])
  assert.deepEqual(asked.at(-1)?.body, { brightness: 80, entity_id: 'light.hall' })
  assert.deepEqual(result, {
    result: {
      success: true,
      service: 'light.turn_on',
      affected_entities: [{ entity_id: 'light.hall', state: 'on' }],
    },
  })
})

test('the response of a service reaches the model', async (t) => {
  const { result } = await callTool(t, 'ha_call_service', [{ domain: 'todo', service: 'get_items' }])
  assert.match(JSON.stringify(result), /milk/)
})

test('services that run code, and those that the configuration names, are not called', async (t) => {
  const refused = [
    { domain: 'shell_command', service: 'rm' },
    { domain: 'lock', service: 'unlock' },
    { domain: '../../api/config', service: 'x' },
    { domain: 'light', service: 'turn_on', entity_id: '../x' },
    { domain: 'light', service: 'turn_on', data: '[1]' },
  ]
  const { results, asked } = await callTool(t, 'ha_call_service', refused, { settings: { blocked_domains: ['lock'] } })
  for (const [index, result] of results.entries())
    assert.ok(isRecord(result) && 'error' in result, JSON.stringify(refused[index]))
  assert.deepEqual([results.length, asked.length], [refused.length, 0])
})

test('a refused token is named, and its value is in no log', async (t) => {
  const { result, log } = await callTool(t, 'ha_get_state', [{ entity_id: 'light.kitchen' }], { token: 'wrong-token' })
  assert.match(JSON.stringify(result), /HASS_TOKEN/)
  assert.doesNotMatch(log, /wrong-token/)
})
