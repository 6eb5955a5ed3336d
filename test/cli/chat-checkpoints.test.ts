import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findProgram } from '../../src/lib/find-program.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { homeWith, quietConfig, runInProcess } from './support.ts'

const skip = findProgram('git', process.env['PATH'] ?? '') === undefined ? 'git is not installed' : false

test('chat --checkpoints keeps the files that the agent changes', { skip }, async (t) => {
  const model = await startOpenAiServer({
    replies: [
      { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'a' } }] },
      { text: 'Written.' },
    ],
  })
  t.after(() => model.stop())
  const home = homeWith(t, `${quietConfig}provider: openai\nmodel: m\nbase_url: ${model.baseUrl}\napi_key: none\n`)
  const environment = { PATH: process.env['PATH'] ?? '' }
  const ask = (...words: string[]) => runInProcess(home.root, ['chat', '--session', 'mine', ...words], { environment })
  assert.match((await ask('--checkpoints', '-q', 'write')).stdout, /Written\./)
  assert.match((await ask('-q', '/rollback')).stdout, /Checkpoints of this conversation[\s\S]*write_file/)
})
