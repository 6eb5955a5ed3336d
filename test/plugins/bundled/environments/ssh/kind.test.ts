import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createSshKind, type SshSettings } from '../../../../../plugins/environments/ssh/kind.ts'
import type { Environment } from '../../../../../src/agent/environments/environment.ts'
import type { EnvironmentRequest } from '../../../../../src/agent/environments/kind.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { describeEnvironment } from '../../../../agent/environments/contract/contract.ts'
import { openEnvironment, toRequest } from '../../../../kit/environment-kind.ts'
import { type Sshd, sshdSkip, startSshd } from '../../../../kit/servers/sshd.ts'

const never = new AbortController().signal
const request = { timeoutMs: 60_000, signal: never, maxOutputBytes: 10_000 }

/** The host is this machine. */
async function untilEnded(id: number): Promise<void> {
  while (existsSync(`/proc/${id}`)) await wait(20)
}

const createAsyncDisposable = (environment: Environment) =>
  Object.assign(environment, { [Symbol.asyncDispose]: () => environment.cleanup() })

describe('commands on a host that ssh reaches', { skip: sshdSkip() }, () => {
  let sshd: Sshd
  let directory: string

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'ssh-kind-'))
    sshd = await startSshd()
  })
  after(async () => {
    await sshd[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  const place = (more: Partial<SshSettings> = {}): EnvironmentRequest<SshSettings> =>
    toRequest({
      sessionId: 'one',
      cwd: directory,
      settings: {
        ssh_host: '127.0.0.1',
        ssh_user: sshd.user,
        ssh_port: sshd.port,
        ssh_key: sshd.key,
        ssh_host_keys: 'strict',
        ssh_known_hosts: sshd.knownHosts,
        ssh_cwd: '',
        ...more,
      },
      gatewayEnv: { PATH: process.env['PATH'], HOME: directory, OPENAI_API_KEY: 'sk-secret' },
      variables: { PASSED: "it's passed" },
      withheld: [],
      home: directory,
      stateDirectory: join(directory, 'state'),
      attachmentsDirectory: join(directory, 'attachments'),
      log: silentLog,
    })
  const kind = (more: Parameters<typeof createSshKind>[0] = {}) =>
    createSshKind({ program: ['ssh', '-F', 'none'], ...more })
  const environmentOf = (options = kind(), more: Partial<SshSettings> = {}) => {
    return createAsyncDisposable(openEnvironment(options, place(more)))
  }

  /** Shell text that starts a process which runs for long, and stores its id under this name. */
  const withDescendant = (name: string) => {
    const file = join(directory, name)
    return `sh -c 'echo $$ >"$1.new"; mv "$1.new" "$1"; exec sleep 60' sh '${file}' &`
  }
  const idOf = async (name: string) => {
    while (!existsSync(join(directory, name))) await wait(10)
    return Number(readFileSync(join(directory, name), 'utf8'))
  }

  test('have their output, their directory and the variables that are passed, and no secret', async () => {
    await using environment = environmentOf(undefined, { ssh_cwd: '' })
    const { output, exitCode } = await environment.execute('pwd; echo "$PASSED"; env; exit 3', request)
    assert.equal(exitCode, 3)
    assert.ok(output.startsWith(`${directory}\nit's passed\n`), output)
    assert.doesNotMatch(output, /sk-secret/)
  })

  test('of two conversations use one connection, which is closed after the last of them', async () => {
    const shared = kind()
    const before = sshd.connections()
    await using second = environmentOf(shared)
    {
      await using first = environmentOf(shared)
      const results = await Promise.all([first.execute('echo 1', request), second.execute('echo 2', request)])
      assert.deepEqual(
        results.map(({ output }) => output),
        ['1\n', '2\n'],
      )
    }
    assert.equal((await second.execute('echo 3', request)).output, '3\n')
    assert.equal(sshd.connections() - before, 1)
  })

  test('are lost with the connection: the result says so, their processes end, and the next one connects again', async () => {
    await using environment = environmentOf()
    const running = environment.execute(`${withDescendant('lost')} sleep 60`, request)
    const descendant = await idOf('lost')
    sshd.dropConnections()
    await assert.rejects(running, { code: 'environment/lost' })
    assert.equal((await environment.execute('echo again', request)).output, 'again\n')
    await untilEnded(descendant)
  })

  test('leave a process running that they have put into the background', async () => {
    await using environment = environmentOf()
    const file = join(directory, 'left-running')
    const { output } = await environment.execute(`(sleep 1; touch '${file}') & echo begun`, request)
    assert.ok(output.startsWith('begun\n'), output)
    while (!existsSync(file)) await wait(20)
  })

  test('run once and end when the gateway is killed', async () => {
    const once = join(directory, 'once')
    const program = `
      const { createSshKind } = await import(${JSON.stringify(import.meta.resolve('../../../../../plugins/environments/ssh/kind.ts'))})
      const { openEnvironment, toRequest } = await import(${JSON.stringify(import.meta.resolve('../../../../kit/environment-kind.ts'))})
      const place = toRequest({ ...${JSON.stringify(place())}, log: {} })
      const environment = openEnvironment(createSshKind({ program: ['ssh', '-F', 'none'] }), place)
      await environment.execute(process.argv[1], ${JSON.stringify({ ...request })})`
    const withSignal = program.replace('"signal":{}', 'signal: new AbortController().signal')
    const command = `echo x >>'${once}'; ${withDescendant('killed')} sleep 60`
    const gateway = spawn(process.execPath, ['--input-type=module', '-e', withSignal, command], { stdio: 'inherit' })
    const descendant = await idOf('killed')
    gateway.kill('SIGKILL')
    await new Promise((resolve) => gateway.once('exit', resolve))
    await kind().recover?.(place(), never)
    await untilEnded(descendant)
    assert.equal(readFileSync(once, 'utf8'), 'x\n')
  })

  test('end with an error when the network fails without a word', async () => {
    await using environment = environmentOf(kind({ aliveSeconds: 1, connectSeconds: 2 }))
    await environment.execute('true', request)
    sshd.freeze()
    await assert.rejects(environment.execute('true', request), { code: /environment\/(lost|unreachable)/ })
    await assert.rejects(environment.execute('true', request), { code: 'environment/unreachable' })
    sshd.thaw()
    assert.equal((await environment.execute('echo again', request)).output, 'again\n')
  })

  test('see the files that the file tools write', async () => {
    await using environment = environmentOf()
    const file = join(directory, 'file with space')
    assert.deepEqual(await environment.files.writeAtomic(file, 'über\n', { signal: never }), {
      ok: true,
      created: true,
    })
    assert.equal((await environment.execute(`cat '${file}'`, request)).output, 'über\n')
    writeFileSync(file, 'changed')
    const read = await environment.files.read(file, { signal: never, maxBytes: 100 })
    assert.equal(read.ok && read.bytes.toString(), 'changed')
    assert.equal(readFileSync(file, 'utf8'), 'changed')
  })

  test('leave the keys of the host and the secrets of a gateway to the people: file tools refuse them', async () => {
    mkdirSync(join(directory, 'hermes'))
    writeFileSync(join(directory, 'hermes', '.env'), 'KEY=needle')
    symlinkSync(join(directory, 'hermes', '.env'), join(directory, 'harmless'))
    await using environment = createAsyncDisposable(
      openEnvironment(kind(), { ...place(), home: join(realpathSync(directory), 'hermes') }),
    )
    const { files } = environment
    const access = { signal: never }
    const codes = [
      await files.read('harmless', { ...access, maxBytes: 100 }),
      await files.writeAtomic('~/.ssh/authorized_keys', 'ssh-ed25519 AAAA', access),
      await files.writeAtomic('hermes/config.yaml', '', access),
      await files.remove('/etc/hostname', access),
    ].map((result) => !result.ok && result.code)
    assert.deepEqual(codes, ['protected', 'protected', 'protected', 'protected'])
    const request = { path: directory, target: 'content', pattern: 'needle', fileGlob: '.env' } as const
    const found = await files.search({ ...request, limit: 9, timeoutMs: 20_000 }, access)
    assert.deepEqual(found, { ok: true, hits: [] })
  })

  test('do not run here when the host cannot be reached', async () => {
    await using environment = environmentOf(kind(), { ssh_port: 1 })
    const file = join(directory, 'never')
    await assert.rejects(environment.execute(`touch '${file}'`, request), { code: 'environment/unreachable' })
    assert.equal(existsSync(file), false)
  })

  const shared = kind()
  let keeper: Environment | undefined
  after(() => keeper?.cleanup())
  describeEnvironment({
    name: 'ssh',
    async open() {
      // One connection for all tests.
      keeper ??= openEnvironment(shared, place())
      await keeper.start?.(never)
      const folder = realpathSync(mkdtempSync(join(directory, 'contract-')))
      const close = async () => rmSync(folder, { recursive: true })
      return { environment: openEnvironment(shared, { ...place(), cwd: folder }), directory: folder, close }
    },
  })

  test('are checked before they are needed: the host, its key and the settings', async () => {
    const { sessionId: _, ...ok } = place()
    assert.deepEqual(await kind().check?.(ok, never), { ok: true, detail: `${sshd.user}@127.0.0.1:${sshd.port}` })
    const codes = [
      [{ ssh_host: '' }, 'environment/ssh-settings'],
      [{ ssh_port: 1 }, 'environment/unreachable'],
      [{ ssh_key: sshd.wrongKey }, 'environment/ssh-denied'],
      [{ ssh_known_hosts: '/dev/null' }, 'environment/ssh-host-key-unknown'],
    ] as const
    for (const [more, code] of codes) {
      const checked = await kind().check?.(place(more), never)
      assert.equal(checked?.ok === false && checked.code, code)
    }
  })
})
