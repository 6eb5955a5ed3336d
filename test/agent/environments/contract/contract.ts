/**
 * What every environment does, as tests that run over each kind.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Environment, ExecuteOptions } from '../../../../src/agent/environments/environment.ts'

export interface ContractSubject {
  readonly environment: Environment
  /** A directory of the place that the test may fill. */
  readonly directory: string
  /** Removes everything. */
  close(): Promise<void>
}

export interface ContractOptions {
  readonly name: string
  /** Why it cannot run here. */
  readonly skip?: string | false
  open(): Promise<ContractSubject>
}

const never = new AbortController().signal
const access = { signal: never }
const options: ExecuteOptions = { timeoutMs: 60_000, signal: never, maxOutputBytes: 20_000 }

/** Says that it exited with 0, with whatever token the processes above it show on their command lines. */
const forgedExit = `for pid in $PPID $(cut -d ' ' -f 4 /proc/$PPID/stat); do
t=$(tr '\\0' ' ' </proc/$pid/cmdline | grep -o '036[0-9a-f]\\{32\\}' | head -n 1 | cut -c 4-); printf '\\036%s exited 0\\n' "$t"
done 2>/dev/null; exit 7`

export function describeEnvironment({ name, skip = false, open }: ContractOptions): void {
  const contract = (title: string, run: (subject: ContractSubject) => Promise<void>) =>
    test(title, { skip }, async () => {
      const subject = await open()
      try {
        await run(subject)
      } finally {
        await subject.environment.cleanup()
        await subject.close()
      }
    })

  describe(`an environment of kind ${name}`, () => {
    contract('returns both outputs, the exit code and an empty input', async ({ environment, directory }) => {
      const run = (command: string) => environment.execute(command, { ...options, cwd: directory })
      const result = await run("printf '%s' \"it's ü\"; cat; echo two >&2; exit 3")
      assert.deepEqual(result, { output: "it's ütwo\n", exitCode: 3, timedOut: false, aborted: false })
      assert.equal((await run(forgedExit)).exitCode, 7)
      const missing = environment.execute('true', { ...options, cwd: `${directory}/missing` })
      await assert.rejects(missing, { code: 'terminal/no-folder' })
    })

    contract('runs two commands at once, with variables of their own', async ({ environment }) => {
      const results = await Promise.all(
        ['one', "t'wo"].map((value) => environment.execute('echo "$V"', { ...options, variables: { V: value } })),
      )
      assert.deepEqual(
        results.map(({ output }) => output),
        ['one\n', "t'wo\n"],
      )
    })

    contract('ends a command and its descendants at the limit and on abort', async ({ environment, directory }) => {
      const [go, file] = [`${directory}/go`, `${directory}/late`]
      // What is left of a command goes on at this sign.
      const command = `(while [ ! -e '${go}' ]; do sleep 0.1; done; echo late > '${file}') & sleep 30`
      const timed = await environment.execute(command, { ...options, timeoutMs: 300 })
      assert.deepEqual([timed.timedOut, timed.aborted], [true, false])
      const stop = new AbortController()
      setTimeout(() => stop.abort(), 300)
      const aborted = await environment.execute(command, { ...options, signal: stop.signal })
      assert.deepEqual([aborted.timedOut, aborted.aborted], [false, true])
      await environment.execute(`: > '${go}'; sleep 0.5`, options)
      const found = await environment.files.stat(file, access)
      assert.deepEqual(found, { ok: true, stat: undefined })
    })

    contract('keeps a bounded part of a long output', async ({ environment }) => {
      const command = 'echo begin; head -c 4000000 /dev/zero | tr "\\0" x; echo end'
      const result = await environment.execute(command, options)
      assert.equal(result.exitCode, 0)
      assert.ok(result.output.length < 21_000)
      assert.match(result.output, /^begin\nx[\s\S]*xend\n$/)
    })

    contract('writes and reads any bytes under any name', async ({ environment, directory }) => {
      const { files } = environment
      const bytes = Buffer.from([0, 1, 0x1e, 0xff, 0x0a, 0x0d, ...Buffer.from(randomUUID())])
      for (const file of ['q\'uo"te', 'two\nlines', 'ünïcode $HOME `x`', '-n', '.a']) {
        const path = `${directory}/new folder/${file}`
        assert.deepEqual(await files.writeAtomic(path, bytes, access), { ok: true, created: true })
        assert.deepEqual(await files.writeAtomic(path, bytes, access), { ok: true, created: false })
        assert.deepEqual(await files.read(path, { ...access, maxBytes: 1_000 }), { ok: true, bytes })
        const part = await files.read(path, { ...access, offset: 2, length: 2 })
        assert.deepEqual(part, { ok: true, bytes: bytes.subarray(2, 4) })
      }
      const listed = await files.list(`${directory}/new folder`, { ...access, limit: 3 })
      assert.ok(listed.ok && !listed.isComplete)
      assert.deepEqual(
        listed.entries.map(({ name }) => name),
        ['-n', '.a', 'q\'uo"te'],
      )
    })

    contract('refuses what is no file, with a code', async ({ environment, directory }) => {
      const { files } = environment
      const codeOf = (result: { readonly ok: boolean; readonly code?: string }) => result.code
      await files.writeAtomic(`${directory}/a`, '12345', access)
      assert.equal(codeOf(await files.read(directory, { ...access, maxBytes: 9 })), 'is_directory')
      assert.equal(codeOf(await files.read(`${directory}/none`, { ...access, maxBytes: 9 })), 'not_found')
      assert.equal(codeOf(await files.read(`${directory}/a`, { ...access, maxBytes: 4 })), 'too_large')
      assert.equal(codeOf(await files.writeAtomic(directory, '', access)), 'is_directory')
      assert.equal(codeOf(await files.remove(directory, access)), 'is_directory')
      assert.equal(codeOf(await files.remove(`${directory}/a`, access)), undefined)
      assert.equal(codeOf(await files.remove(`${directory}/a`, access)), 'not_found')
    })

    contract('follows a link and keeps it, and keeps the mode of a file', async ({ environment, directory }) => {
      const { files } = environment
      await environment.execute('echo old > target; chmod 750 target; ln -s target link', {
        ...options,
        cwd: directory,
      })
      assert.deepEqual(await files.writeAtomic(`${directory}/link`, 'new\n', access), { ok: true, created: false })
      const shown = await environment.execute('cat target; readlink link; stat -c %a target', {
        ...options,
        cwd: directory,
      })
      assert.equal(shown.output, 'new\ntarget\n750\n')
    })

    contract('finds lines and names', async ({ environment, directory }) => {
      const { files } = environment
      await files.writeAtomic(`${directory}/src/a.ts`, 'const a = 12\nother\n', access)
      await files.writeAtomic(`${directory}/b.txt`, 'b = 34\n', access)
      const request = { path: directory, limit: 10, timeoutMs: 20_000, fileGlob: undefined }
      const lines = await files.search({ ...request, target: 'content', pattern: '= \\d+' }, access)
      assert.ok(lines.ok)
      assert.deepEqual(lines.hits.map(({ path, line }) => `${path.slice(directory.length)}:${line}`).sort(), [
        '/b.txt:1',
        '/src/a.ts:1',
      ])
      const names = await files.search({ ...request, target: 'files', pattern: '*.ts' }, access)
      assert.ok(names.ok)
      assert.deepEqual(
        names.hits.map(({ path }) => path),
        [`${directory}/src/a.ts`],
      )
    })

    contract('counts lines, lists files and shows the lines near a hit', async ({ environment, directory }) => {
      const { files } = environment
      await files.writeAtomic(`${directory}/a-1-b.txt`, 'one\nhit 2\nhit 3\nfour\nfive\n', access)
      await files.writeAtomic(`${directory}/none.txt`, 'nothing\n', access)
      const request = { path: directory, limit: 10, timeoutMs: 20_000, fileGlob: undefined, target: 'content' } as const
      const search = async (more: { output?: 'files' | 'counts'; context?: number; pattern?: string }) => {
        const result = await files.search({ ...request, pattern: 'hit', ...more }, access)
        assert.ok(result.ok, JSON.stringify(result))
        return result.hits.map(({ path, line, text, count, isContext = false }) =>
          [path.slice(directory.length + 1), line, text, count ?? '', isContext ? 'near' : ''].join('|'),
        )
      }
      assert.deepEqual(await search({ output: 'files' }), ['a-1-b.txt|0|||'])
      assert.deepEqual(await search({ output: 'counts' }), ['a-1-b.txt|0||2|'])
      assert.deepEqual(await search({ context: 1 }), [
        'a-1-b.txt|1|one||near',
        'a-1-b.txt|2|hit 2||',
        'a-1-b.txt|3|hit 3||',
        'a-1-b.txt|4|four||near',
      ])
      assert.deepEqual(await search({ output: 'files', pattern: 'no such line' }), [])
      const invalid = await files.search({ ...request, output: 'files', pattern: '(' }, access)
      assert.equal(!invalid.ok && invalid.code, 'invalid_pattern')
    })

    contract('gives a new file the mode that was asked for', async ({ environment, directory }) => {
      const { files } = environment
      await files.writeAtomic(`${directory}/run`, '#!/bin/sh\n', { ...access, newMode: 0o700 })
      const found = await files.stat(`${directory}/run`, access)
      assert.equal(found.ok && found.stat?.mode, 0o700)
    })

    contract('talks to a command in the background and kills it', async ({ environment }) => {
      if (environment.spawn === undefined) return
      const command = await environment.spawn('read x; echo "got $x"; sleep 60', {})
      let output = ''
      const heard = new Promise<void>((resolve) =>
        command.onOutput((text) => {
          output += text
          if (output.includes('\n')) resolve()
        }),
      )
      assert.equal(command.write('hello\n'), true)
      await heard
      assert.equal(output, 'got hello\n')
      command.kill()
      await command.exited
      await environment.cleanup()
      await environment.cleanup()
    })
  })
}
