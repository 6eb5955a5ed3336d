/**
 * Listens on a Unix socket that only the user of this process may connect to.
 */
import { chmodSync, closeSync, openSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { basename, dirname } from 'node:path'

/** The kernel's limit of an address (`sun_path`), without the NUL at its end. */
export const maxAddressBytes = process.platform === 'darwin' ? 103 : 107

/**
 * The directory of the socket must exist and be private. Replaces a socket that an earlier process has left. Resolves with a
 * function that ends listening and removes the socket. Rejects with a system error, `ENAMETOOLONG` for a long path outside of Linux.
 */
export async function listenOnUnixSocket(server: Server, path: string): Promise<() => void> {
  rmSync(path, { force: true })
  const isLong = Buffer.byteLength(path) > maxAddressBytes && process.platform === 'linux'
  // A path below an open directory is short, whatever the path of the directory.
  const directory = isLong ? openSync(dirname(path), 'r') : undefined
  const address = directory === undefined ? path : `/proc/self/fd/${directory}/${basename(path)}`
  const release = () => {
    rmSync(path, { force: true })
    if (directory !== undefined) closeSync(directory)
  }
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(address, () => {
        server.off('error', reject)
        resolve()
      })
    })
    chmodSync(path, 0o600)
  } catch (error) {
    server.close()
    release()
    throw error
  }
  return () => {
    server.close()
    release()
  }
}
