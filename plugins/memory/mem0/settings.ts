/**
 * The settings of Mem0, where Hermes keeps them: secrets in `.env`, the rest in `mem0.json` of the home. Variables have the
 * lower precedence.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asString, type Fields, isRecord, messageOf, type PluginContext } from '#sdk'

/** The user id that the setup of Hermes wrote when none was chosen. */
const placeholderUserId = 'hermes-user'

/** Throws an `Error` when `mem0.json` is not JSON. */
export function readMem0Settings({ home, env }: Pick<PluginContext, 'home' | 'env'>) {
  const file = readSettingsFile(home)
  const read = (key: string, variable: string) => asString(file[key]) || (env(variable) ?? '')
  const userId = read('user_id', 'MEM0_USER_ID')
  return {
    /** '' for none. */
    apiKey: read('api_key', 'MEM0_API_KEY'),
    /** The address of the user's own server; '' for the cloud. */
    host: read('host', 'MEM0_HOST').replace(/\/+$/, ''),
    /** '' for each person's own. */
    userId: userId === placeholderUserId ? '' : userId,
    agentId: read('agent_id', 'MEM0_AGENT_ID') || 'hermes',
  }
}

/** Keeps values that are not given. */
export function saveMem0Settings(home: string, values: Fields): void {
  const path = join(home, 'mem0.json')
  const temporary = `${path}.tmp`
  const text = JSON.stringify({ ...readSettingsFile(home), ...values }, undefined, 2)
  writeFileSync(temporary, `${text}\n`, { mode: 0o600 })
  renameSync(temporary, path)
}

function readSettingsFile(home: string): Fields {
  const path = join(home, 'mem0.json')
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw error
  }
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : {}
  } catch (error) {
    throw new Error(`${path} is not JSON: ${messageOf(error)}`, { cause: error })
  }
}
