/**
 * Tells which files hold secrets though their owner may read them: what somebody else's words made a model name must not
 * travel to a chat. Stricter than what its tools may read.
 */
import { constants, open, realpath, stat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import type { HomeLayout } from '../lib/home.ts'

export interface SecretsDeps {
  readonly home: Pick<HomeLayout, 'root' | 'logs' | 'envFile' | 'tokenFile' | 'databaseFile' | 'configFile'>
  readonly userHome: string
}

/** Where containers find what they must not tell. */
const secretFolders = ['/run/secrets', '/var/run/secrets']
/** Below the user's home everything hidden is settings, keys and histories, except what programs store for a while. */
const openFolders = ['.cache']
const secretFile = /^\.env\b|^(?:state\.db|gateway\.token|auth\.json|config\.yaml)\b/i
/** How much of a file is looked at for a key. */
const headBytes = 4_096

/** Whether the file of this real path may hold secrets. Throws system errors. */
export function createSecrets({ home, userHome }: SecretsDeps): (path: string) => Promise<boolean> {
  const own = [home.envFile, home.tokenFile, home.databaseFile, home.configFile]
  return async (path) => {
    const [gateway, user, logs] = await Promise.all([home.root, userHome, home.logs].map(realOf))
    if (path.endsWith('.env') || secretFolders.some((folder) => below(path, folder) !== undefined)) return true
    if (logs !== undefined && below(path, logs) !== undefined) return true
    const name = below(path, gateway)
    // Copies that somebody has put beside the files themselves, and what the database keeps next to it.
    if (name !== undefined && secretFile.test(name)) return true
    if (name === undefined && isHidden(below(path, user))) return true
    return (await isOneOf(path, own)) || (await holdsKey(path))
  }
}

function isHidden(name: string | undefined): boolean {
  const [first = ''] = name?.split(sep) ?? []
  return first.startsWith('.') && !openFolders.includes(first)
}

/** Another name of the same file. */
async function isOneOf(path: string, files: readonly string[]): Promise<boolean> {
  const { dev, ino, nlink } = await stat(path)
  if (nlink < 2) return false
  const others = await Promise.all(files.map((file) => stat(file).catch(() => undefined)))
  return others.some((other) => other?.dev === dev && other.ino === ino)
}

async function holdsKey(path: string): Promise<boolean> {
  // Without waiting, should somebody have put a pipe there meanwhile.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY/.test(buffer.toString('latin1', 0, bytesRead))
  } finally {
    await file.close()
  }
}

/** Undefined where there is nothing: then nothing lies in it. */
function realOf(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined)
}

/** The path as seen from the folder; undefined when it lies elsewhere. */
function below(path: string, folder: string | undefined): string | undefined {
  if (folder === undefined) return undefined
  const name = relative(folder, path)
  return name === '..' || name.startsWith(`..${sep}`) || name === '' ? undefined : name
}
