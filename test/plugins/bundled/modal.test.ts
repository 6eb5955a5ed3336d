/**
 * The plugin for Modal. Modal's SDK speaks a protocol of its own, so an object with its methods stands for it.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { loadModal, type ModalClient, type SandboxCreation } from '../../../plugins/modal/load-client.ts'
import { createSandbox } from '../../../plugins/modal/sandbox.ts'
import { createScriptEnvironment } from '../../../src/agent/environments/scripts/script-environment.ts'

const keys = { tokenId: 'ak-1', tokenSecret: 'as-1' }
const never = new AbortController().signal
const request = { timeoutMs: 60_000, signal: never, maxOutputBytes: 10_000 }

function fakeModal() {
  const created: { image: object; options: SandboxCreation }[] = []
  let isRunning = false
  const sandbox = {
    async exec([program = '', ...args]: string[]) {
      if (!isRunning) throw new Error('the sandbox has ended')
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
      const exited = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)))
      const output = text(child.stdout)
      return { stdout: { readText: () => output }, wait: () => exited }
    },
    snapshotFilesystem: async () => ({ imageId: 'im-1' }),
    async terminate() {
      isRunning = false
    },
  }
  const client: ModalClient = {
    apps: { fromName: async (name) => ({ name }) },
    images: { fromRegistry: (name) => ({ name }), fromId: async (id) => ({ id }) },
    sandboxes: {
      async create(_app, image, options) {
        created.push({ image, options })
        isRunning = true
        return sandbox
      },
      async fromName() {
        if (isRunning) return sandbox
        throw Object.assign(new Error('not found'), { name: 'NotFoundError' })
      },
    },
  }
  return {
    client,
    created,
    end() {
      isRunning = false
    },
  }
}

test('commands run in a sandbox, which is created again after Modal has ended it, with the files that were kept', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'modal-'))
  t.after(() => rmSync(cwd, { recursive: true, force: true }))
  const modal = fakeModal()
  let kept: string | undefined
  const sandbox = createSandbox({
    client: async () => modal.client,
    name: 'hermes-one',
    sessionId: 'one',
    settings: () => ({ app: 'app', image: 'debian:12', cpu: 2, memoryMb: 1_024, lifetimeMinutes: 60, idleMinutes: 5 }),
    snapshot: {
      get: async () => kept,
      set: async (id) => {
        kept = id
      },
    },
  })
  const place = createScriptEnvironment({
    ...{ kind: 'modal', cwd, retryMs: [1, 1] },
    start: sandbox.start,
    runScript: sandbox.runScript,
    stop: () => sandbox.stop({ keepsFiles: true }),
  })
  const { output, exitCode } = await place.execute('echo hello; exit 3', request)
  assert.deepEqual({ output, exitCode }, { output: 'hello\n', exitCode: 3 })
  modal.end()
  assert.equal((await place.execute('echo again', request)).output, 'again\n')
  await place.cleanup()
  assert.equal(kept, 'im-1')
  assert.equal((await place.execute('echo kept', request)).output, 'kept\n')
  assert.deepEqual(
    modal.created.map(({ image }) => image),
    [{ name: 'debian:12' }, { name: 'debian:12' }, { id: 'im-1' }],
  )
  assert.deepEqual(modal.created[0]?.options, {
    name: 'hermes-one',
    tags: { hermes_task_id: 'one', hermes_gateway: '1' },
    ...{ cpu: 2, memoryMiB: 1_024, timeoutMs: 3_600_000, idleTimeoutMs: 300_000 },
  })
  await place.cleanup()
})

test('a missing SDK, and a package that only has its name, are errors that say what to install', async () => {
  const expected = (error: Error & { code?: string; hint?: string }) => {
    assert.equal(error.code, 'environment/no-client')
    assert.match(error.hint ?? '', /npm install modal@\d/)
    return true
  }
  await assert.rejects(
    loadModal(keys, () => Promise.reject(new Error('Cannot find package'))),
    expected,
  )
  await assert.rejects(
    loadModal(keys, async () => ({ default: () => undefined })),
    expected,
  )
  class Other {}
  await assert.rejects(
    loadModal(keys, async () => ({ ModalClient: Other })),
    expected,
  )
})
