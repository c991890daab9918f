"""The types of the vendors' SDKs that somebody has looked at: each is read, and what becomes of it is decided.

A type that is not here is new. Look at what it is for, see that it is read, kept and sent back (or that its loss is
reported), and write it down.
"""

# By SDK and union; those of an answer, of a request and of a stream.
KNOWN = {
    "anthropic BetaContentBlock": (
        "advisor_tool_result bash_code_execution_tool_result code_execution_tool_result compaction "
        "container_upload fallback mcp_tool_listing mcp_tool_result mcp_tool_use redacted_thinking "
        "server_tool_use text text_editor_code_execution_tool_result thinking tool_search_tool_result "
        "tool_use web_fetch_tool_result web_search_tool_result"
    ),
    "anthropic BetaContentBlockParam": (
        "advisor_tool_result bash_code_execution_tool_result code_execution_tool_result compaction "
        "container_upload document fallback image mcp_tool_listing mcp_tool_result mcp_tool_use "
        "redacted_thinking search_result server_tool_use text text_editor_code_execution_tool_result thinking "
        "tool_addition tool_removal tool_result tool_search_tool_result tool_use web_fetch_tool_result "
        "web_search_tool_result"
    ),
    "anthropic BetaRawMessageStreamEvent": (
        "content_block_delta content_block_start content_block_stop message_delta message_start message_stop"
    ),
    "anthropic BetaRawContentBlockDelta": (
        "citations_delta compaction_delta input_json_delta signature_delta text_delta thinking_delta"
    ),
    "openai ResponseOutputItem": (
        "additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction "
        "computer_call computer_call_output custom_tool_call custom_tool_call_output file_search_call "
        "function_call function_call_output image_generation_call local_shell_call local_shell_call_output "
        "mcp_approval_request mcp_approval_response mcp_call mcp_list_tools message program program_output "
        "reasoning shell_call shell_call_output tool_search_call tool_search_output web_search_call"
    ),
    "openai ResponseInputItemParam": (
        "additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction "
        "compaction_trigger computer_call computer_call_output configuration_update custom_tool_call "
        "custom_tool_call_output file_search_call function_call function_call_output image_generation_call "
        "item_reference local_shell_call local_shell_call_output mcp_approval_request mcp_approval_response "
        "mcp_call mcp_list_tools message program program_output reasoning shell_call shell_call_output "
        "tool_search_call tool_search_output web_search_call"
    ),
    "openai ResponseInputContentParam": "input_file input_image input_text",
    "openai ResponseStreamEvent": (
        "error response.audio.delta response.audio.done response.audio.transcript.delta "
        "response.audio.transcript.done response.code_interpreter_call.completed "
        "response.code_interpreter_call.in_progress response.code_interpreter_call.interpreting "
        "response.code_interpreter_call_code.delta response.code_interpreter_call_code.done "
        "response.compaction.compacting response.completed response.content_part.added "
        "response.content_part.done response.created response.custom_tool_call_input.delta "
        "response.custom_tool_call_input.done response.failed response.file_search_call.completed "
        "response.file_search_call.in_progress response.file_search_call.searching "
        "response.function_call_arguments.delta response.function_call_arguments.done "
        "response.image_generation_call.completed response.image_generation_call.generating "
        "response.image_generation_call.in_progress response.image_generation_call.partial_image "
        "response.in_progress response.incomplete response.mcp_call.completed response.mcp_call.failed "
        "response.mcp_call.in_progress response.mcp_call_arguments.delta response.mcp_call_arguments.done "
        "response.mcp_list_tools.completed response.mcp_list_tools.failed response.mcp_list_tools.in_progress "
        "response.output_item.added response.output_item.done response.output_text.annotation.added "
        "response.output_text.delta response.output_text.done response.queued "
        "response.reasoning_summary_part.added response.reasoning_summary_part.done "
        "response.reasoning_summary_text.delta response.reasoning_summary_text.done "
        "response.reasoning_text.delta response.reasoning_text.done response.refusal.delta "
        "response.refusal.done response.shell_call_command.added response.shell_call_command.delta "
        "response.shell_call_command.done response.shell_call_output_content.delta "
        "response.shell_call_output_content.done response.web_search_call.completed "
        "response.web_search_call.in_progress response.web_search_call.searching"
    ),
    "openai ChatCompletionContentPartParam": "file image_url input_audio text",
    "openai ChatCompletionMessageToolCallUnionParam": "custom function",
    "openai ChatCompletionMessage": "annotations audio content function_call refusal role tool_calls",
    "google-genai Part": (
        "audioMetadata audioTranscription codeExecutionResult documentMetadata executableCode fileData "
        "functionCall functionResponse inlineData mediaProcessing mediaResolution partMetadata speechMetadata "
        "spreadsheetMetadata text thought thoughtSignature toolCall toolResponse videoMetadata"
    ),
    "google-genai Step": (
        "code_execution_call code_execution_result file_search_call file_search_result function_call "
        "function_result google_maps_call google_maps_result google_search_call google_search_result "
        "mcp_server_tool_call mcp_server_tool_result model_output processing_call processing_result "
        "retrieval_call retrieval_result thought tool_search_call tool_search_result url_context_call "
        "url_context_result user_input"
    ),
    "google-genai ContentParam": "audio document image text video",
    "google-genai InteractionSSEEvent": (
        "error interaction.completed interaction.created interaction.status_update step.delta step.start step.stop"
    ),
    "google-genai StepDeltaData": (
        "arguments_delta audio code_execution_call code_execution_result document file_search_call "
        "file_search_result function_result google_maps_call google_maps_result google_search_call "
        "google_search_result image mcp_server_tool_call mcp_server_tool_result processing_call "
        "processing_result retrieval_call retrieval_result text text_annotation_delta thought_signature "
        "thought_summary tool_search_call tool_search_result url_context_call url_context_result video"
    ),
    "botocore ContentBlock": (
        "audio cachePoint citationsContent document guardContent image reasoningContent searchResult text "
        "toolAddition toolRemoval toolResult toolUse video"
    ),
    "botocore ContentBlockStart": "image toolResult toolUse",
    "botocore ContentBlockDelta": "citation image reasoningContent text toolResult toolUse",
    "botocore ReasoningContentBlockDelta": "redactedContent signature text",
    "botocore ToolResultContentBlock": "document image json searchResult text video",
    "botocore SystemContentBlock": "cachePoint guardContent text",
    "botocore ConverseStreamOutput": (
        "contentBlockDelta contentBlockStart contentBlockStop internalServerException messageStart "
        "messageStop metadata modelStreamErrorException serviceUnavailableException throttlingException "
        "validationException"
    ),
    "botocore ConversationRole": "assistant system user",
    "mistralai ContentChunk": (
        "document_url file image_url input_audio reference resource resource_link text thinking"
    ),
    "mistralai AssistantMessage": "content prefix role tool_calls",
    "ollama Message": "content images role thinking tool_calls tool_name",
    "langchain-core ContentBlock": (
        "audio file image invalid_tool_call non_standard reasoning refusal server_tool_call "
        "server_tool_call_chunk server_tool_result text text-plain tool_call tool_call_chunk video"
    ),
}
