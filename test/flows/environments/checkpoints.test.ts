/**
 * Which folders a call of a tool may have kept.
 */
import assert from 'node:assert/strict'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FolderChange } from '../../../src/agent/checkpoints/checkpoints.ts'
import { createFileGuard } from '../../../src/agent/command-policy/file-guard.ts'
import { createLocalEnvironment } from '../../../src/agent/environments/local-environment.ts'
import { checkpointBefore } from '../../../src/flows/environments/checkpoints.ts'
import { tempHome } from '../../kit/temp-home.ts'

test('a folder of keys, a read-only folder and a hidden one are not kept for anyone', async (t) => {
  const root = realpathSync(tempHome(t))
  for (const name of ['.ssh', 'work', 'hidden', 'shown']) mkdirSync(join(root, name))
  const access = (path: string) =>
    path.startsWith(join(root, 'hidden')) ? 'hidden' : path.startsWith(join(root, 'shown')) ? 'readOnly' : 'writable'
  const guard = createFileGuard({
    home: join(root, '.hermes'),
    userHome: root,
    sandbox: async () => ({
      view: { hidden: [], readOnly: [], writable: [], privateTmp: undefined },
      toHostPath: (path) => path,
      accessOf: access,
      hiddenReason: (path) => (access(path) === 'hidden' ? `${path} is hidden` : undefined),
    }),
  })
  const local = createLocalEnvironment({ cwd: root, env: {} })
  const environment = {
    cwd: root,
    files: { ...local.files, check: async (path: string) => await guard.checkWrite(path, true) },
  }
  const changes: FolderChange[] = []
  await checkpointBefore(
    { before: async (change) => void changes.push(change) },
    { tool: 'terminal', paths: [root], command: 'rm a' },
    { environment, isOwner: true, turn: 't', session: 's', toHostPath: (path) => path, redact: (text) => text },
    new AbortController().signal,
  )
  const [change] = changes
  assert.ok(change !== undefined)
  const kept = await Promise.all(['.ssh', 'work', 'hidden', 'shown'].map((name) => change.mayWrite(join(root, name))))
  assert.deepEqual(kept, [false, true, false, false])
})
