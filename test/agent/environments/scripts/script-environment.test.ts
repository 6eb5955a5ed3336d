import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  createScriptEnvironment,
  type ScriptEnvironmentOptions,
} from '../../../../src/agent/environments/scripts/script-environment.ts'

const cwd = mkdtempSync(join(tmpdir(), 'scripts-'))
after(() => rmSync(cwd, { recursive: true, force: true }))

const never = new AbortController().signal
const request = { timeoutMs: 60_000, signal: never, maxOutputBytes: 10_000 }

/** A shell of this machine stands for the place. */
function runScript(script: string, signal: AbortSignal): Promise<string> {
  const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'], signal })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve(output))
  })
}

const environment = (more: Partial<ScriptEnvironmentOptions> = {}) =>
  createScriptEnvironment({
    ...{ kind: 'shell', cwd, runScript, retryMs: [1], start: async () => undefined, stop: async () => undefined },
    ...more,
  })

test('a command has its output, its exit code, its directory and its variables', async () => {
  const place = environment({ variables: { ONE: "it's" } })
  const { output, exitCode } = await place.execute(`pwd; echo "$ONE $TWO"; echo wrong >&2; exit 3`, {
    ...request,
    variables: { TWO: 'two' },
  })
  assert.deepEqual({ output, exitCode }, { output: `${cwd}\nit's two\nwrong\n`, exitCode: 3 })
  await assert.rejects(place.execute('true', { ...request, cwd: '/nonexistent' }), { code: 'terminal/no-folder' })
})

test('a long output keeps its beginning and its end', async () => {
  const { output } = await environment().execute('seq 1 200000; echo end', { ...request, maxOutputBytes: 200_000 })
  assert.ok(output.startsWith('1\n2\n') && output.endsWith('200000\nend\n'))
  assert.ok(Buffer.byteLength(output) < 201_000, String(output.length))
})

test('a command that takes too long or was aborted is ended, with the processes that it started', async () => {
  const place = environment()
  const stop = new AbortController()
  const [go, late] = [join(cwd, 'go'), join(cwd, 'late')]
  // What is left of a command goes on at this sign.
  const rest = `(while [ ! -e '${go}' ]; do sleep 0.05; done; touch '${late}') &`
  const command = (name: string) => `echo begun >${name}; ${rest} echo begun; sleep 60`
  const [slow, aborted] = await Promise.all([
    place.execute(command('slow'), { ...request, timeoutMs: 500 }),
    place.execute(command('aborted'), { ...request, signal: stop.signal }),
    (async () => {
      while (!existsSync(join(cwd, 'aborted'))) await wait(10)
      stop.abort()
    })(),
  ])
  assert.deepEqual(slow, { output: 'begun\n', exitCode: null, timedOut: true, aborted: false })
  assert.deepEqual([aborted.aborted, aborted.exitCode], [true, null])
  writeFileSync(go, '')
  await wait(300)
  assert.equal(existsSync(late), false)
})

test('a place that does not answer is asked again, and the command runs once', async () => {
  let calls = 0
  const file = join(cwd, 'once')
  const place = environment({
    retryMs: [1, 1, 1],
    async runScript(script, signal) {
      const output = await runScript(script, signal)
      // Every second answer is lost.
      if (calls++ % 2 === 0) throw new Error('the connection was reset')
      return output
    },
  })
  const { output, exitCode } = await place.execute(`echo x >>'${file}'; cat '${file}'`, request)
  assert.deepEqual({ output, exitCode }, { output: 'x\n', exitCode: 0 })
})

test('a place that does not answer at all is an error, and nothing runs here instead', async () => {
  const place = environment({ runScript: () => Promise.reject(new Error('gone')) })
  await assert.rejects(place.execute('true', request), { code: 'environment/lost' })
})

test('files have the content that was written, whatever its size and its bytes', async () => {
  const { files } = environment()
  const access = { signal: never }
  const content = Buffer.from(Array.from({ length: 700_000 }, (_, index) => (index * 7) % 251))
  assert.deepEqual(await files.writeAtomic('sub/file', content, access), { ok: true, created: true })
  const read = await files.read('sub/file', { ...access, maxBytes: 1_000_000 })
  assert.ok(read.ok && read.bytes.equals(content))
  const listed = await files.list('sub', { ...access, limit: 5 })
  assert.deepEqual(listed.ok && listed.entries, [{ name: 'file', kind: 'file' }])
  assert.deepEqual(await files.remove('sub/file', access), { ok: true })
})

test('nothing stays behind in the place', async () => {
  const before = new Set(readdirSync('/tmp'))
  const place = environment()
  await place.execute('true', request)
  const left = () => readdirSync('/tmp').filter((name) => name.startsWith('.hermes-') && !before.has(name))
  while (left().length > 0) await wait(10)
  assert.deepEqual(left(), [])
})
