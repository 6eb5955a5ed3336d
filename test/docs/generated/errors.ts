/**
 * Generates the tables of errors from the catalogue.
 */
import { statusOf } from '../../../src/http/json-response.ts'
import { type CatalogueEntry, type ErrorCode, errorCatalogue } from '../../../src/lib/error-catalogue.ts'
import { table } from './table.ts'

/** The title of each area. The first part of a code is its area. The types require a title for each. */
const areas: Readonly<Record<AreaOf<ErrorCode>, string>> = {
  config: 'The configuration',
  auth: 'Stored keys',
  home: 'The home directory',
  store: 'The database',
  media: 'Files of messages',
  http: 'HTTP',
  inbox: 'Incoming messages',
  pairing: 'Pairing',
  sessions: 'Stored sessions',
  approvals: 'Approvals',
  platform: 'Platforms',
  provider: 'The model provider',
  agent: 'The agent and its tools',
  terminal: 'Commands of the agent',
  environment: 'Places where commands run',
  checkpoints: 'Checkpoints of files',
  hosts: 'Hosts: handlers of hooks and Python plugins',
  hooks: 'Hooks',
  plugins: 'Plugins',
  middleware: 'Managed calls and middleware',
  outbox: 'Outgoing replies',
  delivery: 'Messages to a target',
  service: 'The service',
  backup: 'Backups',
  cli: 'The command line',
}

type AreaOf<Code extends string> = Code extends `${infer Area}/${string}` ? Area : never

export function errors(): string {
  const all: [string, CatalogueEntry, number][] = codes().map((code) => [code, errorCatalogue[code], statusOf(code)])
  return Object.entries(areas)
    .map(([area, title]) => {
      const own = all.filter(([code]) => code.startsWith(`${area}/`))
      const rows = own.map(([code, { meaning, hint, formerCode }, status]) => [
        formerCode === undefined ? `\`${code}\`` : `\`${code}\` (formerly \`${formerCode}\`)`,
        meaning,
        hint,
        status === 500 ? '' : String(status),
      ])
      return `## ${title}\n\n${table(['Code', 'Meaning', 'What to do', 'HTTP'], rows)}`
    })
    .join('\n\n')
}

function codes(): ErrorCode[] {
  const isCode = (name: string): name is ErrorCode => Object.hasOwn(errorCatalogue, name)
  return Object.keys(errorCatalogue).filter(isCode)
}
