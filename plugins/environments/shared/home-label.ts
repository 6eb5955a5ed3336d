/**
 * The name of a home for the engine of the containers. Several gateways may use one engine, also from containers of their
 * own in which their homes have the same path; so the name contains a random part that lies in the home.
 */
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '#sdk'

/** 16 hexadecimal digits, always the same for this home. Rejects with a system error. */
export async function homeLabel(home: string, directory: string): Promise<string> {
  const file = join(directory, 'id')
  const id = (await readId(file)) ?? (await createId(directory, file))
  return createHash('sha256').update(`${id.trim()}\0${home}`).digest('hex').slice(0, 16)
}

/** Undefined: this home has never had containers. */
export async function knownHomeLabel(home: string, directory: string): Promise<string | undefined> {
  return (await readId(join(directory, 'id'))) === undefined ? undefined : homeLabel(home, directory)
}

async function readId(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function createId(directory: string, file: string): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  try {
    const id = randomBytes(16).toString('hex')
    await writeFile(file, id, { flag: 'wx', mode: 0o600 })
    return id
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
    return await readFile(file, 'utf8')
  }
}
