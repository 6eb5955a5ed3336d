/**
 * The public test kit (`#sdk/testing`) for authors of platforms and providers.
 */
export {
  type PlatformContractOptions,
  type PlatformRequirement,
  type PlatformUnderTest,
  platformContract,
  platformRequirements,
  type UserFile,
} from './contracts/platform.ts'
export { checkRequirement, type RequirementResult } from './contracts/platform-requirement.ts'
export type { TestConversation } from './contracts/platform-under-test.ts'
export { type ProviderSetup, providerContract } from './contracts/provider.ts'
export {
  type FakePlatform,
  installFakePlatform,
  type ShownMessage,
  startFakePlatform,
  type UserMessage,
} from './fake-platform.ts'
export type { LogFieldsMatcher, LogMatcher } from './log-matcher.ts'
export { createManualClock, type ManualClock } from './manual-clock.ts'
export { createRecordingContext, type RecordingContext, type RecordingOptions } from './recording-context.ts'
export { type ReplayOptions, type ReplaySubject, replayContract, valueAt } from './replay.ts'
export {
  call,
  type ScriptedAnswer,
  type ScriptedProvider,
  type ScriptStep,
  scriptedProvider,
} from './scripted-provider.ts'
export { startAnthropicServer } from './servers/anthropic-server.ts'
export {
  createFaults,
  type FaultedCall,
  type FaultOptions,
  type FaultResponse,
  type Faults,
  type OutageKind,
} from './servers/faults.ts'
export type { ModelReply, RecordedRequest } from './servers/model-script.ts'
export { startOpenAiServer } from './servers/openai-server.ts'
export type { RateWindow, RateWindowOptions } from './servers/rate-window.ts'
export type { ModelServer, ModelServerOptions } from './servers/sse.ts'
export { type RecordedEvent, startTestGateway, type TestGateway, type TestGatewayOptions } from './start-gateway.ts'
export { tempHome } from './temp-home.ts'
