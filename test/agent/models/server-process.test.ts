import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createProvider } from '../../../src/agent/models/create-provider.ts'
import { callOnce } from '../../kit/contracts/provider-run.ts'

test('the local model server runs in a separate process and records requests', async () => {
  const script = { replies: [{ text: 'first' }, { error: { status: 429 } }], defaultReply: { text: 'later' } }
  const file = fileURLToPath(new URL('../../kit/servers/run-openai-server.ts', import.meta.url))
  const child = spawn(process.execPath, [file, JSON.stringify(script)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [port] = await once(createInterface(child.stdout), 'line')
  const origin = `http://127.0.0.1:${port}`
  const choice = createProvider({
    model: 'm',
    baseUrl: `${origin}/v1`,
    apiKey: '',
    variables: { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' },
  })
  assert.ok('provider' in choice)
  assert.equal((await callOnce(choice.provider)).output.text, 'first')
  await assert.rejects(callOnce(choice.provider), { kind: 'rate-limit', status: 429 })
  assert.equal((await callOnce(choice.provider)).output.text, 'later')
  const recorded: unknown = await (await fetch(`${origin}/_requests`)).json()
  assert.ok(typeof recorded === 'object' && recorded !== null && 'count' in recorded)
  assert.equal(recorded.count, 3)
  child.stdin.end()
  await once(child, 'exit')
})
