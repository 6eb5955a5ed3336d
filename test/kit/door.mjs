/**
 * The former name of `register-sdk.mjs`. Deprecated; removed in 0.3.0.
 */
import './register-sdk.mjs'
