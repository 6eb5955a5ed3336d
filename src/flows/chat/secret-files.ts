/**
 * Detects files that may hold secrets. Stricter than the read rules of tools, because the text of a stranger may make the
 * model send a file to a chat.
 */
import { constants, open, realpath, stat } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import type { HomeLayout } from '../../lib/home.ts'
import { locateProfile } from '../../lib/profiles.ts'

/** Secrets of containers. */
const secretDirectories = ['/run/secrets', '/var/run/secrets']
/** Hidden files in the user's home are settings, keys and histories, except caches. */
const publicDirectories = ['.cache']
const secretFilePattern =
  /^\.env\b|^(?:state\.db|gateway\.token|auth\.json|config\.yaml|webhook_subscriptions\.json)\b/i
/** Directories of the gateway with the data of other people, or with settings. */
const privateOwnDirectories = ['profiles', 'memories', 'cron', 'platforms', 'pairing', 'hooks', 'plugins', 'mcp-tokens']
/** The part of a file that is searched for a key. */
const inspectedBytes = 4_096

/**
 * Whether the file of this real path may hold secrets. `content` is the path that its content is read from. Throws system errors.
 */
export function createSecretFileCheck({
  home,
  userHome,
}: {
  readonly home: Pick<HomeLayout, 'root' | 'logs' | 'envFile' | 'tokenFile' | 'databaseFile' | 'configFile'>
  readonly userHome: string
}): (path: string, content: string) => Promise<boolean> {
  const root = locateProfile(home.root).rootHome
  const secretPaths = [home.envFile, home.tokenFile, home.databaseFile, home.configFile]
  return async (path, content) => {
    const [gateway, user, logs] = await Promise.all([home.root, userHome, home.logs].map(realPathIfExists))
    if (path.endsWith('.env') || secretDirectories.some((folder) => pathWithin(path, folder) !== undefined)) return true
    if (logs !== undefined && pathWithin(path, logs) !== undefined) return true
    const name = pathWithin(path, gateway)
    // In the home of a profile, what lies around it belongs to the other profiles.
    if (name === undefined && pathWithin(path, await realPathIfExists(root)) !== undefined) return true
    // Includes copies of these files and the files that the database keeps next to it.
    if (
      name !== undefined &&
      (secretFilePattern.test(name) || privateOwnDirectories.includes(name.split(sep)[0] ?? ''))
    )
      return true
    if (name === undefined && isHidden(pathWithin(path, user))) return true
    return (await isHardLinkTo(content, secretPaths)) || (await containsPrivateKey(content))
  }
}

function isHidden(name: string | undefined): boolean {
  const [first = ''] = name?.split(sep) ?? []
  return first.startsWith('.') && !publicDirectories.includes(first)
}

/** Another name (hard link) of one of the files. */
async function isHardLinkTo(path: string, files: readonly string[]): Promise<boolean> {
  const { dev, ino, nlink } = await stat(path)
  if (nlink < 2) return false
  const others = await Promise.all(files.map((file) => stat(file).catch(() => undefined)))
  return others.some((other) => other?.dev === dev && other.ino === ino)
}

async function containsPrivateKey(path: string): Promise<boolean> {
  // O_NONBLOCK, because the path may be a named pipe by now.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(inspectedBytes), 0, inspectedBytes, 0)
    return /-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY/.test(buffer.toString('latin1', 0, bytesRead))
  } finally {
    await file.close()
  }
}

/** Undefined when the path does not exist. */
function realPathIfExists(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined)
}

/** The path relative to the folder; undefined when it is outside. */
function pathWithin(path: string, folder: string | undefined): string | undefined {
  if (folder === undefined) return undefined
  const name = relative(folder, path)
  return name === '..' || name.startsWith(`..${sep}`) || name === '' ? undefined : name
}
