/**
 * What an editor attaches to a prompt reaches the agent as pictures, mentions and data.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { methods } from '@agentclientprotocol/sdk'
import { splitThinking } from '../../../src/clients/acp/conversation-text.ts'
import { readPrompt } from '../../../src/clients/acp/prompt-content.ts'
import { createPng } from '../../kit/pictures.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { openEditor } from './editor.ts'

test('a slash command stays one, mentions are paths, and files are data behind what was typed', () => {
  const { text, pictures } = readPrompt([
    { type: 'resource', resource: { uri: 'file:///a/b%20c.ts#L3:9', text: 'x ``` y\n````' } },
    { type: 'text', text: '/compress look at ' },
    { type: 'resource_link', uri: 'file:///a/main.ts', name: 'main.ts' },
    { type: 'text', text: ' and ' },
    { type: 'resource_link', uri: 'https://example.org/x', name: 'page' },
    { type: 'resource', resource: { uri: 'file:///a/x.bin', blob: 'AAEC', mimeType: 'application/octet-stream' } },
    { type: 'audio', data: '', mimeType: 'audio/wav' },
  ])
  assert.deepEqual(pictures, [])
  assert.deepEqual(text.split('\n\n'), [
    '/compress look at `/a/main.ts` and [page](https://example.org/x)',
    '[File of the editor: /a/b c.ts:3-9]\n`````\nx ``` y\n````\n`````',
    '[The file /a/x.bin is not text (application/octet-stream).]',
    '[The editor sent a part of the type audio, which is not supported.]',
  ])
})

test('a long file is cut and says so, and a picture that cannot be read is named', () => {
  const long = readPrompt([{ type: 'resource', resource: { uri: 'file:///a', text: 'x'.repeat(600_000) } }])
  assert.match(long.text, /\[Cut to 524288 of 600000 characters\.\]$/)
  const { text, pictures } = readPrompt([
    { type: 'image', data: '', mimeType: 'image/png' },
    { type: 'image', data: 'AAAA', mimeType: 'image/tiff' },
  ])
  assert.deepEqual([pictures, text.match(/cannot be read/g)?.length], [[], 2])
  assert.equal(readPrompt([]).text, '')
})

test('thinking in front of an answer is told apart', () => {
  assert.deepEqual(splitThinking('> \u{1f4ad} **Thinking**\n> one\n> two\n\nanswer'), {
    thought: 'one\ntwo',
    answer: 'answer',
  })
  assert.deepEqual(splitThinking('> quoted\n\nanswer'), { thought: '', answer: '> quoted\n\nanswer' })
})

test('a picture of a prompt is shown to the model', async (t) => {
  const gateway = await startTestGateway(t, { config: { model: 'gpt-5.2' }, replies: [{ text: 'a red square' }] })
  const editor = await openEditor(t, gateway)
  const sessionId = await editor.open(tempHome(t))
  const data = createPng({ width: 8, height: 8 }).toString('base64')
  await editor.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [
      { type: 'text', text: 'what is it?' },
      { type: 'image', data, mimeType: 'image/png' },
    ],
  })
  assert.match(JSON.stringify(gateway.model.requests[0]?.body), /data:image\/png;base64/)
})
