/**
 * What a request becomes, and how each mistake is named.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ApiError } from '../../../platforms/api_server/errors.ts'
import { parseChatRequest } from '../../../platforms/api_server/parse-request.ts'

function parse(body: unknown, headers: Record<string, string> = {}) {
  const chat = parseChatRequest(Buffer.from(JSON.stringify(body)), new Headers(headers))
  return { ...chat, history: chat.history.map(({ message }) => message) }
}

const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown, ...calls: unknown[]) => ({
  role: 'assistant',
  content,
  ...(calls.length === 0 ? {} : { tool_calls: calls }),
})
const call = (id: string, name = 'look') => ({ id, type: 'function', function: { name, arguments: '{}' } })
const result = (id: string, content: unknown = 'seen') => ({ role: 'tool', tool_call_id: id, content })

describe('a request', () => {
  it('with one message has this input and no history', () => {
    assert.deepEqual(parse({ messages: [user('hello')] }), {
      input: 'hello',
      pictures: [],
      recordings: [],
      history: [],
      instructions: '',
      stream: false,
      includeUsage: false,
      model: undefined,
      sessionId: undefined,
      sessionKey: undefined,
      idempotencyKey: undefined,
    })
  })

  it('keeps the earlier messages with tool calls and results', () => {
    const { input, history, instructions } = parse({
      messages: [
        { role: 'system', content: 'Be brief.' },
        user('look around'),
        assistant(null, call('a'), call('b', 'listen')),
        result('b'),
        result('a', [{ type: 'text', text: 'a wall' }]),
        assistant('There is a wall.'),
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        user('and now?'),
      ],
    })
    assert.equal(input, 'and now?')
    assert.equal(instructions, 'Be brief.\n\nBe kind.')
    assert.deepEqual(history, [
      { role: 'user', content: 'look around' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'a', name: 'look', arguments: '{}' },
          { id: 'b', name: 'listen', arguments: '{}' },
        ],
      },
      { role: 'tool', toolCallId: 'b', name: 'listen', content: 'seen' },
      { role: 'tool', toolCallId: 'a', name: 'look', content: 'a wall' },
      { role: 'assistant', content: 'There is a wall.' },
    ])
  })

  it('with very many small messages is parsed quickly', () => {
    const { input } = parse({ messages: Array.from({ length: 40_000 }, () => user('a')) })
    assert.equal(input.length, 40_000 * 3 - 2)
  })

  it('joins text parts and adjacent messages of one role, because models expect alternating roles', () => {
    const { input, history } = parse({
      messages: [
        user('a'),
        user([
          { type: 'text', text: 'b' },
          { type: 'text', text: 'c' },
        ]),
        assistant('d'),
        assistant([{ type: 'refusal', refusal: 'e' }]),
        user('f'),
        user('g'),
      ],
    })
    assert.deepEqual(history, [
      { role: 'user', content: 'a\n\nbc' },
      { role: 'assistant', content: 'd\n\ne' },
    ])
    assert.equal(input, 'f\n\ng')
  })

  it('reads stream, stream_options, model and the two headers', () => {
    const body = { messages: [user('x')], stream: true, stream_options: { include_usage: true }, model: 'gpt-x' }
    const parsed = parse(body, { 'x-hermes-session-id': 'a.b:c@d_1', 'idempotency-key': 'k/1' })
    assert.equal(parsed.stream, true)
    assert.equal(parsed.includeUsage, true)
    assert.equal(parsed.model, 'gpt-x')
    assert.equal(parsed.sessionId, 'a.b:c@d_1')
    assert.equal(parsed.idempotencyKey, 'k/1')
  })

  it('may contain model settings and tools, which are ignored', () => {
    const tuning = { temperature: 0.2, top_p: 1, max_tokens: 5, seed: 1, user: 'x', metadata: {}, n: 1, stop: ['a'] }
    const tools = { tools: [{ type: 'function', function: { name: 'x' } }], tool_choice: 'auto' }
    assert.equal(
      parse({ messages: [user('x')], ...tuning, ...tools, response_format: { type: 'text' }, stream: null }).input,
      'x',
    )
  })
})

describe('an invalid request is a 400 that names the field', () => {
  const ok = [user('x')]
  const image = (url: unknown, detail?: string) => ({ type: 'image_url', image_url: { url, detail } })
  const png = 'data:image/png;base64,AAAA'
  const mistakes: [string, unknown, string | undefined][] = [
    ['a body that is no object', [1], undefined],
    ['no messages', {}, 'messages'],
    ['messages that are no list', { messages: 'hello' }, 'messages'],
    ['an empty list', { messages: [] }, 'messages'],
    ['a message that is no object', { messages: ['hello'] }, 'messages[0]'],
    ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    ['the retired function role', { messages: [{ role: 'function', name: 'f', content: 'x' }] }, 'messages[0].role'],
    ['no content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['content that is a number', { messages: [user(5)] }, 'messages[0].content'],
    ['a part without a type', { messages: [user([{ text: 'x' }])] }, 'messages[0].content[0]'],
    [
      'a part whose text is no string',
      { messages: [user([{ type: 'text', text: 1 }])] },
      'messages[0].content[0].text',
    ],
    ['a file as a picture', { messages: [user([image('file:///x')])] }, 'messages[0].content[0].image_url.url'],
    ['a picture without address', { messages: [user([image(5)])] }, 'messages[0].content[0].image_url.url'],
    ['an unknown detail', { messages: [user([image(png, 'ultra')])] }, 'messages[0].content[0].image_url.detail'],
    ['too many pictures', { messages: [user(Array(9).fill(image(png)))] }, 'messages[0].content'],
    [
      'a picture of the system',
      { messages: [{ role: 'system', content: [image(png)] }] },
      'messages[0].content[0].type',
    ],
    [
      'sound without data',
      { messages: [user([{ type: 'input_audio', input_audio: {} }])] },
      'messages[0].content[0].input_audio.data',
    ],
    ['only instructions', { messages: [{ role: 'system', content: 'x' }] }, 'messages'],
    ['an answer as the last message', { messages: [...ok, assistant('y')] }, 'messages'],
    ['a tool result as the last message', { messages: [...ok, assistant(null, call('a')), result('a')] }, 'messages'],
    ['an empty last message', { messages: [user(' \n')] }, 'messages'],
    ['a result without a call', { messages: [...ok, result('a'), ...ok] }, 'messages[1].tool_call_id'],
    [
      'a result given twice',
      { messages: [...ok, assistant('', call('a')), result('a'), result('a')] },
      'messages[3].tool_call_id',
    ],
    ['a call without a result', { messages: [...ok, assistant(null, call('a')), ...ok] }, 'messages[2]'],
    ['tool calls that are no list', { messages: [{ role: 'assistant', tool_calls: {} }] }, 'messages[0].tool_calls'],
    ['a tool call without a function', { messages: [assistant('', { id: 'a' })] }, 'messages[0].tool_calls[0]'],
    ['a stream that is not a boolean', { messages: ok, stream: 'yes' }, 'stream'],
    ['stream options that are no object', { messages: ok, stream: true, stream_options: 1 }, 'stream_options'],
    ['a model that is no string', { messages: ok, model: 4 }, 'model'],
    ['several choices', { messages: ok, n: 2 }, 'n'],
    ['a forced tool call', { messages: ok, tool_choice: 'required' }, 'tool_choice'],
    ['a JSON schema', { messages: ok, response_format: { type: 'json_schema' } }, 'response_format'],
    ['audio', { messages: ok, modalities: ['text', 'audio'] }, 'modalities'],
  ]
  for (const [what, body, param] of mistakes) {
    it(what, () => {
      assert.throws(
        () => parse(body),
        (error) => error instanceof ApiError && error.status === 400 && error.detail.param === param,
      )
    })
  }

  const broken: [string, Uint8Array][] = [
    ['no JSON', Buffer.from('{"messages":')],
    ['nothing', Buffer.alloc(0)],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x7d])],
    ['JSON 100,000 levels deep', Buffer.from(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
    ['JSON 100,000 levels deep inside', Buffer.from(`{"messages":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)],
  ]
  for (const [what, bytes] of broken) {
    it(`a body of ${what}`, () => {
      assert.throws(
        () => parseChatRequest(bytes, new Headers()),
        (error) => error instanceof ApiError && error.status === 400,
      )
    })
  }

  for (const id of ['', ' ', 'a/b', '../x', 'a b', 'ä', 'x'.repeat(129), 'a,b']) {
    it(`the session id ${JSON.stringify(id.slice(0, 10))}`, () => {
      const headers = new Headers()
      assert.throws(
        () => {
          headers.set('x-hermes-session-id', id)
          parseChatRequest(Buffer.from(JSON.stringify({ messages: ok })), headers)
        },
        (error) => error instanceof ApiError && error.detail.param === 'x-hermes-session-id',
      )
    })
  }
})
