/**
 * Generates the reference page of the configuration, its JSON Schema for editors, and the table of its variables.
 */
import { join } from 'node:path'
import { gatewayShapes, gatewayVariables } from '../../../src/app/config.ts'
import { describeConfig, renderConfigReference } from '../../../src/config/config-reference.ts'
import { configJsonSchema } from '../../../src/config/json-schema.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { discoverPlatforms } from '../../../src/platforms/registry.ts'
import { root } from '../repository.ts'
import { table } from './table.ts'

export interface ConfigurationPages {
  readonly page: string
  readonly schema: string
  /** A Markdown table. */
  readonly variables: string
}

/** Includes the bundled platforms. */
export async function configuration(): Promise<ConfigurationPages> {
  const { platforms } = discoverPlatforms({ directories: [join(root, 'platforms')], log: silentLog })
  const shapes = gatewayShapes(platforms)
  const rows = describeConfig(shapes, gatewayVariables(platforms))
  const variables = rows.flatMap((row) => row.variables.map((name) => [`\`${name}\``, `\`${row.path}\``, row.type]))
  return {
    page: renderConfigReference(rows),
    schema: `${JSON.stringify(configJsonSchema(shapes), null, 2)}\n`,
    variables: table(['Variable', 'Key of config.yaml', 'Value'], variables),
  }
}
