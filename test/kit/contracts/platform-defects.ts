/**
 * Adapters with one defect each. Every promise of the platform contract has at least one defect that breaks it.
 */

import { albumDefects } from './platform-defects/albums.ts'
import type { Defect } from './platform-defects/create-defect.ts'
import { failureDefects } from './platform-defects/failures.ts'
import { inboundDefects } from './platform-defects/inbound.ts'
import { interactionDefects } from './platform-defects/interactions.ts'
import { lifecycleDefects } from './platform-defects/lifecycle.ts'
import { outboundDefects } from './platform-defects/outbound.ts'

export type { Defect } from './platform-defects/create-defect.ts'

export const defects: readonly Defect[] = [
  ...lifecycleDefects,
  ...inboundDefects,
  ...interactionDefects,
  ...outboundDefects,
  ...albumDefects,
  ...failureDefects,
]
