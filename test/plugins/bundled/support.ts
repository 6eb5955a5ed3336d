/**
 * A whole gateway with plugins that ship, enabled and told as a person would: in config.yaml.
 */
import type { TestContext } from 'node:test'
import { isRecord } from '../../../src/sdk.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../kit/start-gateway.ts'

type Settings = Readonly<Record<string, unknown>>

/** @param plugins the settings of each, by its id */
export function startWithBundledPlugins(
  t: TestContext,
  plugins: Readonly<Record<string, Settings>>,
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  return startTestGateway(t, { ...options, config: { ...options.config, plugins: pluginsConfig(plugins) } })
}

/** `plugins` of config.yaml. */
export function pluginsConfig(plugins: Readonly<Record<string, Settings>>) {
  const entries = Object.entries(plugins).map(([id, settings]) => [id, { settings }])
  return { enabled: Object.keys(plugins), entries: Object.fromEntries(entries) }
}

/** The fields of the lines of a log that hold this text. */
export function logRecordsWith(gateway: TestGateway, text: string): Settings[] {
  return gateway.log
    .filter((line) => line.includes(text))
    .map((line): unknown => JSON.parse(line))
    .filter(isRecord)
}
