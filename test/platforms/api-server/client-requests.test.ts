/**
 * Requests in the shapes that Open WebUI and LibreChat send, with the fields that have no meaning here.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { secret } from '../../http/support.ts'
import { startTestApi } from './support.ts'

const pixel = 'data:image/png;base64,iVBORw0KGgo='
const searchTool = { name: 'search', description: 'Searches.', parameters: { type: 'object', properties: {} } }

const requests = [
  {
    name: 'Open WebUI: a chat',
    path: '/v1/chat/completions',
    body: {
      stream: true,
      model: 'hermes',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: [{ type: 'text', text: 'three' }] },
      ],
      stream_options: { include_usage: true },
      temperature: 0.7,
    },
    roles: ['user', 'assistant'],
  },
  {
    name: 'Open WebUI: a title',
    path: '/v1/chat/completions',
    body: {
      model: 'hermes',
      messages: [{ role: 'user', content: 'three' }],
      stream: false,
      max_completion_tokens: 1000,
    },
    roles: [],
  },
  {
    name: 'Open WebUI: a connection of the type responses, after a tool of its own',
    path: '/v1/responses',
    body: {
      model: 'hermes',
      stream: true,
      instructions: 'Be kind.',
      max_output_tokens: 500,
      tools: [{ type: 'function', ...searchTool, strict: false }],
      tool_choice: 'auto',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'one' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        { type: 'function_call', call_id: 'c1', name: 'search', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'found' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'three' }] },
      ],
    },
    roles: ['user', 'assistant', 'tool', 'assistant'],
  },
  {
    name: 'LibreChat: a custom endpoint',
    path: '/v1/chat/completions',
    body: {
      model: 'hermes',
      user: '665f1c2e9b1d8c0012345678',
      stream: true,
      stream_options: { include_usage: true },
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      tools: [{ type: 'function', function: searchTool }],
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'one' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', name: 'search', content: 'found' },
        { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
        { role: 'user', content: 'three' },
      ],
    },
    roles: ['user', 'assistant', 'tool', 'assistant'],
  },
  {
    name: 'LibreChat: useResponsesApi',
    path: '/v1/responses',
    body: {
      model: 'hermes',
      user: '665f1c2e9b1d8c0012345678',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'medium', summary: 'auto' },
      parallel_tool_calls: true,
      input: [
        { type: 'message', role: 'developer', content: 'Be kind.' },
        { role: 'user', content: 'one' },
        {
          type: 'message',
          role: 'assistant',
          id: 'msg_1',
          content: [{ type: 'output_text', text: 'two', annotations: [] }],
        },
        { type: 'message', role: 'user', content: 'three' },
      ],
    },
    roles: ['user', 'assistant'],
  },
] as const

it('requests of Open WebUI and LibreChat are served as they are sent', async (t) => {
  const api = await startTestApi(t)
  for (const { name, path, body, roles } of requests) {
    const asked = fetch(`${api.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { event, end } = await api.next()
    end({ text: 'four' })
    const response = await asked
    assert.equal(response.status, 200, name)
    assert.match(await response.text(), /four/, name)
    assert.equal(event.text, 'three', name)
    assert.deepEqual(event.seed?.messages.map(({ role }) => role) ?? [], roles, name)
    if (roles.length > 0) assert.equal(event.seed?.instructions, 'Be kind.', name)
  }
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
