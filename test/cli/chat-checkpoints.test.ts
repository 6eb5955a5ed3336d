import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { test } from 'node:test'
import { findProgram } from '../../src/lib/find-program.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { homeWith, runInProcess } from './support.ts'

const skip = findProgram('git', process.env['PATH'] ?? '') === undefined ? 'git is not installed' : false

test('chat --checkpoints keeps the files that the agent changes', { skip }, async (t) => {
  const model = await startOpenAiServer({
    replies: [
      { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'a' } }] },
      { text: 'Written.' },
    ],
  })
  t.after(() => model.stop())
  const home = homeWith(t, `provider: openai\nmodel: m\nbase_url: ${model.baseUrl}\napi_key: none\nhttp: {port: 0}\n`)
  // Without a sandbox the agent works in the home of the user, which is too large for a checkpoint.
  appendFileSync(home.configFile, `terminal: {sandbox: off, cwd: ${home.workspace}}\n`)
  const environment = { PATH: process.env['PATH'] ?? '' }
  const ask = (...words: string[]) => runInProcess(home.root, ['chat', '--session', 'mine', ...words], { environment })
  assert.match((await ask('--checkpoints', '-q', 'write')).stdout, /Written\./)
  assert.match((await ask('-q', '/rollback')).stdout, /Checkpoints of this conversation[\s\S]*write_file/)
})
