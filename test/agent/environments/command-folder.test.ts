import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createCommandFolder } from '../../../src/agent/environments/command-folder.ts'
import { createLocalEnvironment } from '../../../src/agent/environments/local.ts'

test('a command of the agent finds hermes on its PATH, with quotes and spaces kept', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hermes-bin-'))
  try {
    await createCommandFolder(join(folder, 'bin'), ['/bin/false'])
    const binDir = await createCommandFolder(join(folder, 'bin'), ['printf', '<%s>', "it's", 'a b'])
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
