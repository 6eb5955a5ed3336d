import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { installCliShim } from '../../../src/agent/environments/cli-shim.ts'
import { createLocalEnvironment } from '../../../src/agent/environments/local-environment.ts'

test('a command of the agent finds hermes on its PATH, and arguments keep quotes and spaces', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hermes-bin-'))
  try {
    await installCliShim(join(folder, 'bin'), ['/bin/false'])
    const binDir = await installCliShim(join(folder, 'bin'), ['printf', '<%s>', "it's", 'a b'])
    const environment = createLocalEnvironment({ cwd: folder, env: { PATH: '/usr/bin:/bin' }, binDir })
    const { output } = await environment.execute('hermes "x  y" $HOME', {
      timeoutMs: 10_000,
      signal: new AbortController().signal,
      maxOutputBytes: 1_000,
    })
    assert.equal(output, "<it's><a b><x  y>")
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
