import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { portableCommand } from '../../../../../plugins/environments/ssh/command-line.ts'
import { createSshConnection, type SshConnectionOptions } from '../../../../../plugins/environments/ssh/connection.ts'
import { removeAbandonedSockets, socketPathOf } from '../../../../../plugins/environments/ssh/control-socket.ts'
import { sshTargetOf } from '../../../../../plugins/environments/ssh/target.ts'
import { type Sshd, sshdSkip, startSshd } from '../../../../kit/servers/sshd.ts'

const settings = { host: '127.0.0.1', user: '', port: undefined, key: '', hostKeys: 'strict', knownHosts: '' } as const
const env = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' }
const never = new AbortController().signal

describe('the target of an ssh connection', () => {
  const code = 'environment/ssh-settings'

  test('a host or a user that ssh could take for an option is refused', () => {
    for (const host of [
      '-oProxyCommand=id',
      '--',
      '',
      'a b',
      'a;id',
      '$(id)',
      '`id`',
      'a\nb',
      '-',
      'user@host',
      'ssh://host',
    ]) {
      assert.throws(() => sshTargetOf({ ...settings, host }, '/home/me'), { code }, JSON.stringify(host))
    }
    for (const user of ['-l', '-oProxyCommand=id', 'a b', '$(id)', "a'b", 'a;b']) {
      assert.throws(() => sshTargetOf({ ...settings, user }, '/home/me'), { code }, user)
    }
    for (const key of ['key', '-i', '../key', '/a"b', '/a\nProxyCommand id']) {
      assert.throws(() => sshTargetOf({ ...settings, key }, '/home/me'), { code }, key)
    }
  })

  test('names, addresses and files of the home are accepted', () => {
    for (const host of ['box', 'box.example.com', '10.0.0.1', '::1', 'fe80::1%eth0', '_alias', '[::1]']) {
      assert.equal(sshTargetOf({ ...settings, host }, '/home/me').host, host.replace(/[[\]]/g, ''))
    }
    assert.equal(sshTargetOf({ ...settings, key: '~/.ssh/id' }, '/home/me').keyFile, '/home/me/.ssh/id')
  })
})

describe('a script in the login shell of an account', () => {
  const script = `printf '%s|' 'a b' "c\\d" "it's" '!x' "$((1+1))" '\\047'; echo "e
f"; cat; exit 7`

  for (const shell of ['sh', 'bash', 'dash', 'zsh', 'fish', 'csh', 'tcsh']) {
    const isInstalled = spawnSync(shell, ['-c', 'true']).status === 0
    test(`arrives unchanged in ${shell}`, { skip: isInstalled ? false : `${shell} is not installed` }, () => {
      const ran = spawnSync(shell, ['-c', portableCommand(script)], { input: 'typed' })
      assert.equal(ran.stdout.toString(), `a b|c\\d|it's|!x|2|\\047|e\nf\ntyped`)
      assert.equal(ran.status, 7)
    })
  }
})

describe('a connection to a host', { skip: sshdSkip() }, () => {
  let sshd: Sshd
  let state: string

  before(async () => {
    state = mkdtempSync(join(tmpdir(), 'ssh-'))
    sshd = await startSshd()
  })
  after(async () => {
    await sshd[Symbol.asyncDispose]()
    rmSync(state, { recursive: true, force: true })
  })

  const targetOf = (more: Partial<Parameters<typeof sshTargetOf>[0]> = {}) =>
    sshTargetOf(
      { ...settings, user: sshd.user, port: sshd.port, key: sshd.key, knownHosts: sshd.knownHosts, ...more },
      '/home/me',
    )
  const connectionTo = (target = targetOf(), more: Partial<SshConnectionOptions> = {}) => {
    const connection = createSshConnection({
      ...{ target, socket: socketPathOf(target, state), env: () => env, program: ['ssh', '-F', 'none'] },
      ...more,
    })
    return Object.assign(connection, { [Symbol.asyncDispose]: () => connection.stop() })
  }
  /** The proxy in front of sshd is in this process, which therefore must not block. */
  async function run(connection: ReturnType<typeof connectionTo>, script: string, onOutput?: () => void) {
    const { argv, env } = connection.commandLine(script, { input: false })
    const [program = '', ...args] = argv
    const child = spawn(program, args, { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += String(chunk)
      onOutput?.()
    })
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk)
    })
    const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { stdout, stderr, status }
  }

  test('is opened once for all who ask at the same time', async () => {
    await using connection = connectionTo()
    const before = sshd.connections()
    await Promise.all([connection.start(never), connection.start(never), connection.start(never)])
    const { stdout, status } = await run(connection, 'echo "it\'s here"; exit 3')
    assert.deepEqual({ stdout, status }, { stdout: "it's here\n", status: 3 })
    assert.equal(sshd.connections() - before, 1)
  })

  test('has its socket where no other user can enter', async () => {
    await using connection = connectionTo()
    await connection.start(never)
    const socket = socketPathOf(targetOf(), state)
    assert.equal(statSync(dirname(socket)).mode & 0o777, 0o700)
    await connection.stop()
    // ssh removes it when it has ended.
    while (existsSync(socket)) await new Promise((resolve) => setTimeout(resolve, 10))
  })

  test('forwards no agent, no display and no port', async () => {
    const target = targetOf()
    const config = join(state, 'config')
    writeFileSync(config, 'Host *\n  ForwardAgent yes\n  ForwardX11 yes\n  LocalForward 1 127.0.0.1:1\n')
    await using connection = connectionTo(target, {
      program: ['ssh', '-F', config],
      env: () => ({ ...env, SSH_AUTH_SOCK: '/nonexistent' }),
    })
    await connection.start(never)
    const { stdout } = await run(connection, 'env')
    assert.doesNotMatch(stdout, /SSH_AUTH_SOCK|DISPLAY/)
  })

  test('is refused when the host shows another key than the known one, and the line is named', async () => {
    await using own = await startSshd()
    const target = targetOf({ port: own.port, key: own.key, knownHosts: own.knownHosts, hostKeys: 'accept-new' })
    await own.changeHostKey()
    await using connection = connectionTo(target)
    await assert.rejects(connection.start(never), (error: Error & { code?: string; hint?: string }) => {
      assert.equal(error.code, 'environment/ssh-host-key-changed')
      assert.ok(error.message.includes(`${own.knownHosts}:1`), error.message)
      assert.match(error.hint ?? '', /ssh-keygen -f .* -R /)
      return true
    })
  })

  test('to a host that is not known is refused, unless the configuration accepts it', async () => {
    const knownHosts = join(state, 'known_hosts')
    writeFileSync(knownHosts, '')
    await using strict = connectionTo(targetOf({ knownHosts }))
    await assert.rejects(strict.start(never), { code: 'environment/ssh-host-key-unknown' })
    assert.equal(readFileSync(knownHosts, 'utf8'), '')
    await using accepting = connectionTo(targetOf({ knownHosts, hostKeys: 'accept-new' }))
    await accepting.start(never)
    assert.match(readFileSync(knownHosts, 'utf8'), /ssh-ed25519/)
  })

  test('with a key that the account does not accept is refused', async () => {
    await using connection = connectionTo(targetOf({ key: sshd.wrongKey }))
    await assert.rejects(connection.start(never), { code: 'environment/ssh-denied' })
    await using missing = connectionTo(targetOf({ key: '/nonexistent' }))
    await assert.rejects(missing.start(never), { code: 'environment/ssh-denied' })
  })

  test('to a host that does not answer is refused, and the next attempt succeeds', async () => {
    await using closed = connectionTo(targetOf({ port: 1 }))
    await assert.rejects(closed.start(never), { code: 'environment/unreachable' })
    await using connection = connectionTo(targetOf(), { connectSeconds: 1, aliveSeconds: 1 })
    sshd.freeze()
    await assert.rejects(connection.start(never), { code: 'environment/unreachable' })
    sshd.thaw()
    await connection.start(never)
  })

  test('without the program ssh is refused', async () => {
    await using connection = connectionTo(targetOf(), { program: ['no-such-ssh'] })
    await assert.rejects(connection.start(never), { code: 'environment/no-client' })
  })

  test('that was lost is opened again', async () => {
    await using connection = connectionTo()
    await connection.start(never)
    const before = sshd.connections()
    sshd.dropConnections()
    // The client needs a moment to notice.
    while (existsSync(socketPathOf(targetOf(), state))) await new Promise((resolve) => setTimeout(resolve, 10))
    await connection.start(never)
    assert.equal((await run(connection, 'exit 4')).status, 4)
    assert.equal(sshd.connections() - before, 1)
  })

  test('ends a command with a typed error when the network fails without a word', async () => {
    await using connection = connectionTo(targetOf(), { aliveSeconds: 1 })
    await connection.start(never)
    const { status: exitCode, stderr } = await run(connection, 'echo started; sleep 60', () => sshd.freeze())
    sshd.thaw()
    const failure = await connection.describeFailure?.({ exitCode, signal: null, stderr })
    assert.equal(failure?.code, 'environment/lost')
  })

  test('takes more commands at once than one connection of sshd', async () => {
    await using connection = connectionTo()
    await connection.start(never)
    const results = await Promise.all(Array.from({ length: 12 }, () => run(connection, 'echo x; sleep 1')))
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set([0]))
  })

  test('of a gateway that was killed is ended at the next start', async () => {
    const target = targetOf()
    const dead = spawnSync('true').pid
    const socket = socketPathOf(target, state).replace(/\d+$/, String(dead))
    const connection = createSshConnection({ target, socket, env: () => env, program: ['ssh', '-F', 'none'] })
    await connection.start(never)
    assert.equal(existsSync(socket), true)
    await removeAbandonedSockets(state, env)
    assert.equal(existsSync(socket), false)
  })
})
