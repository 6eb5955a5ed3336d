/**
 * The system's sshd on a loopback port, with keys of its own, for the account that runs the tests. A proxy in front of it can
 * stop to forward, as a network does that fails without a word.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'

const program = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd'].find(existsSync)

/** False, or why the tests with sshd are skipped. */
export function sshdSkip(): string | false {
  if (program === undefined) return 'sshd is not installed'
  const { shell, username } = userInfo()
  if (/(?:nologin|false)$/.test(shell ?? '')) return `the account ${username} has no shell to log in with`
  const path = (process.env['PATH'] ?? '').split(':')
  const missing = ['ssh', 'ssh-keygen'].filter((name) => !path.some((folder) => existsSync(join(folder, name))))
  return missing.length === 0 ? false : `not installed: ${missing.join(', ')}`
}

export interface Sshd extends AsyncDisposable {
  readonly user: string
  readonly port: number
  /** A key that the account accepts, and one that it does not. */
  readonly key: string
  readonly wrongKey: string
  readonly knownHosts: string
  readonly directory: string
  /** Passes to another key, as after a new installation of the host. */
  changeHostKey(): Promise<void>
  /** Ends the connections that are open, as the host does when it restarts. */
  dropConnections(): void
  /** How many connections were opened. */
  connections(): number
  /** What has been sent is not forwarded, and connections stay open. */
  freeze(): void
  thaw(): void
}

export async function startSshd(): Promise<Sshd> {
  const directory = mkdtempSync(join(tmpdir(), 'sshd-'))
  const file = (name: string) => join(directory, name)
  for (const name of ['host', 'other-host', 'user', 'wrong']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file(name)])
  }
  mkdirSync(file('home'))
  writeFileSync(file('authorized_keys'), readFileSync(file('user.pub')), { mode: 0o600 })
  // sshd as root wants this directory, which the service of the system creates when it starts.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })

  const proxy = createFreezableProxy()
  const port = await proxy.listen()
  writeFileSync(file('known_hosts'), `[127.0.0.1]:${port} ${readFileSync(file('host.pub'), 'utf8')}`)
  let server = await start(directory, 'host')
  proxy.forwardTo(server.port)

  return {
    user: userInfo().username,
    port,
    key: file('user'),
    wrongKey: file('wrong'),
    knownHosts: file('known_hosts'),
    directory,
    async changeHostKey() {
      server.child.kill()
      server = await start(directory, 'other-host')
      proxy.forwardTo(server.port)
    },
    dropConnections: () => proxy.drop(),
    connections: () => proxy.count(),
    freeze: () => proxy.freeze(),
    thaw: () => proxy.thaw(),
    async [Symbol.asyncDispose]() {
      await proxy.close()
      server.child.kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function start(directory: string, hostKey: string): Promise<{ child: ChildProcess; port: number }> {
  if (program === undefined) throw new Error('sshd is not installed')
  const config = join(directory, 'sshd_config')
  const port = await freePort()
  writeFileSync(
    config,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey "${join(directory, hostKey)}"`,
      'PidFile none',
      'UsePAM no',
      'StrictModes no',
      'PermitRootLogin prohibit-password',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      `AuthorizedKeysFile "${join(directory, 'authorized_keys')}"`,
      'UseDNS no',
      // Variables that the client sends are visible, so that a test sees which it sends.
      'AcceptEnv *',
      'MaxStartups 100',
      // The startup files of a developer may take longer than a test.
      `SetEnv "HOME=${join(directory, 'home')}"`,
      '',
    ].join('\n'),
  )
  const child = spawn(program, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8')
  child.stderr.on('data', (text: string) => {
    said = `${said}${text}`.slice(-2_000)
  })
  while (!said.includes('Server listening')) {
    if (child.exitCode !== null) throw new Error(`sshd did not start: ${said}`)
    await wait(10)
  }
  return { child, port }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = portOf(server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}

function portOf(address: ReturnType<ReturnType<typeof createServer>['address']>): number {
  if (address === null || typeof address === 'string') throw new Error('not a TCP server')
  return address.port
}

function createFreezableProxy() {
  const pairs = new Set<readonly [Socket, Socket]>()
  let target = 0
  let count = 0
  let isFrozen = false
  const server = createServer((inner) => {
    count++
    const outer = connect(target, '127.0.0.1')
    const pair = [inner, outer] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [outer, inner]] as const) {
      from.on('data', (chunk: Buffer) => {
        if (!to.write(chunk)) from.pause()
      })
      to.on('drain', () => {
        if (!isFrozen) from.resume()
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    if (isFrozen) pair.forEach((socket) => void socket.pause())
  })
  const drop = () => {
    for (const [inner, outer] of pairs) {
      inner.destroy()
      outer.destroy()
    }
  }
  return {
    listen: async () => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return portOf(server.address())
    },
    forwardTo(port: number) {
      target = port
    },
    count: () => count,
    drop,
    freeze() {
      isFrozen = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    thaw() {
      isFrozen = false
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    close: async () => {
      drop()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
