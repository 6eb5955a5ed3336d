/**
 * The socket through which commands share one connection: in a directory that only the gateway's user can enter, because
 * a user who can open the socket can run commands on the host.
 */
import { createHash } from 'node:crypto'
import { lstat, mkdir, readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { HermesError, messageOf, systemCode } from '#sdk'
import { endConnection } from './run-client.ts'
import type { SshTarget } from './target.ts'

/** Linux allows 107 bytes and macOS 103 in the path of a socket, and ssh adds 17 to it for a moment. */
const maxPathBytes = 103 - 17

/** The socket belongs to this process: another process may not end the connection that it uses. */
export function socketPathOf(target: SshTarget, stateDirectory: string): string {
  return join(directoryOf(stateDirectory), `${digest(JSON.stringify(target))}.${process.pid}`)
}

/** Below the state of the gateway, or, where that path is too long, below a directory of temporary files. */
function directoryOf(stateDirectory: string): string {
  const sockets = join(stateDirectory, 'ssh')
  const short = `hermes-${process.getuid?.() ?? 0}-${digest(stateDirectory)}`
  const nameBytes = 24
  const hasRoom = (directory: string) => Buffer.byteLength(directory) + nameBytes <= maxPathBytes
  return [sockets, join(tmpdir(), short)].find(hasRoom) ?? join('/tmp', short)
}

/** Ends the connections of processes that were killed, and with them the commands that still use them. */
export async function removeAbandonedSockets(
  stateDirectory: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const directory = directoryOf(stateDirectory)
  for (const name of await readdir(directory).catch(() => [])) {
    const pid = Number(/^[0-9a-f]{12}\.(\d+)/.exec(name)?.[1])
    if (!Number.isSafeInteger(pid) || isRunning(pid)) continue
    const socket = join(directory, name)
    if (await isServed(socket)) await endConnection({ program: ['ssh'], socket }, env)
    await rm(socket, { force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)

/** Rejects with `environment/ssh-settings` if another user owns the directory or may enter it. */
export async function createSocketDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unusable(directory, messageOf(error))
  }
  const stats = await lstat(directory)
  if (!stats.isDirectory()) throw unusable(directory, 'It is not a directory.')
  if (process.getuid !== undefined && stats.uid !== process.getuid()) throw unusable(directory, 'Another user owns it.')
  if ((stats.mode & 0o077) !== 0) throw unusable(directory, 'Other users may enter it: make its mode 0700.')
}

const unusable = (directory: string, detail: string) =>
  new HermesError(
    'environment/ssh-settings',
    `The directory of the control socket cannot be used: ${directory}. ${detail}`,
  )

/** Whether a process serves the socket. The socket of a killed process stays behind. */
export function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
